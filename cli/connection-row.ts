/** A connection of the record as core answers it, and as one row of a table. */
import { formatDuration, formatMoment } from './table.ts';

export interface ConnectionAnswer {
  readonly id: string;
  readonly at: string;
  readonly environment: string;
  readonly host: string;
  readonly port: number;
  readonly verdict: string;
  readonly reason: string;
  /** `null` while it is open, and for good where it was denied at once or its replica died. */
  readonly end: {
    readonly reason: string;
    readonly code: string | null;
    readonly address: string | null;
    readonly bytesUp: number;
    readonly bytesDown: number;
    readonly durationMs: number;
  } | null;
}

export function formatConnection(connection: ConnectionAnswer): string[] {
  const { at, environment, host, port, verdict, reason, end } = connection;
  return [
    formatMoment(at),
    environment,
    `${host}:${port}`,
    verdict,
    [reason, end?.code].filter(Boolean).join(' '),
    end?.address ?? '-',
    end ? String(end.bytesUp) : '-',
    end ? String(end.bytesDown) : '-',
    end ? formatDuration(end.durationMs) : '-',
    end?.reason ?? (isOpen(connection) ? 'open' : '-'),
  ];
}

/** Whether it may still have an end. */
export function isOpen({ verdict, end }: ConnectionAnswer): boolean {
  return end === null && verdict !== 'denied';
}
