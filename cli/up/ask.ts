/** One HTTP call to a service of our own on this machine: it follows no proxy setting of the user's. */
import { Agent, request } from 'node:http';
import type { Secret } from '../../core-lite/secret.ts';
import type { ListenAddress } from '../../core-lite/setting-kinds.ts';
import { stringify } from '../api.ts';
import { reachable } from './addresses.ts';

export interface Question {
  readonly method?: 'GET' | 'PUT';
  readonly path: string;
  readonly adminKey?: Secret;
  /** A `Secret` in it is sent as its value. */
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Rejects where nothing answers within 5 s. */
export function ask(address: ListenAddress, question: Question): Promise<Answer> {
  const { method = 'GET', path, adminKey, body } = question;
  const headers = {
    ...(adminKey && { authorization: `Bearer ${adminKey.reveal()}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const signal = AbortSignal.timeout(LIMIT_MS);
  return new Promise((resolve, reject) => {
    const call = request({ ...reachable(address), agent: AGENT, method, path, headers, signal }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.once('error', reject);
      answer.once('end', () =>
        resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      );
    });
    call.once('error', reject);
    call.end(body === undefined ? undefined : stringify(body));
  });
}

const AGENT = new Agent({ keepAlive: false });
const LIMIT_MS = 5_000;
