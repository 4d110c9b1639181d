/** What is recorded of a connection, as text: what the server said first, and how it is taken up again. */
import { isJsonObject, type JsonObject } from '../messages.ts';
import type { Met } from './handshake.ts';
import type { About } from './server.ts';

export interface LinkRecord {
  readonly kind: 'modern' | 'legacy' | 'sse';
  readonly protocolVersion: string;
  readonly sessionId: string | null;
}

export function writeLink({ verdict, about, wire }: Met): string {
  const { protocolVersion } = about;
  return JSON.stringify({
    kind: verdict.kind,
    protocolVersion,
    sessionId: wire.sessionId,
  } satisfies LinkRecord);
}

/** Of our own making, sealed since. */
export function readLink(text: string): LinkRecord {
  return JSON.parse(text) as LinkRecord;
}

export function writeAbout(about: About): string {
  return JSON.stringify(about);
}

export function readAbout(text: string): About {
  return JSON.parse(text) as About;
}

/** Too much to be kept for each session. */
export function isTooMuch(about: About): boolean {
  return writeAbout(about).length > MAX_ABOUT_CHARS;
}

/** Whether a capability is there: `{}` is, and so is `true`. */
export function declares(capabilities: JsonObject, name: string): boolean {
  const value = capabilities[name];
  return value === true || isJsonObject(value);
}

const MAX_ABOUT_CHARS = 256 * 1024;
