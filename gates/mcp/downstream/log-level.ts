/** Whether a client that asked for log messages from a level on gets this one. */
import type { JsonObject } from '../messages.ts';
import { LOG_LEVELS } from './names.ts';

/** @param from `null`: it asked for none */
export function hearsLog(from: string | null, { level }: JsonObject): boolean {
  if (from === null) return false;
  return rank(level) >= rank(from);
}

export function isLogLevel(value: unknown): value is (typeof LOG_LEVELS)[number] {
  return rank(value) >= 0;
}

function rank(level: unknown): number {
  return (LOG_LEVELS as readonly unknown[]).indexOf(level);
}
