import { format, inspect } from 'node:util';
import { deserialize, serialize } from 'node:v8';
import { expect, it } from 'vitest';
import { describeError, openLog } from '../../core-lite/log.ts';
import { Secret } from '../../core-lite/secret.ts';

const CANARY = 'canary-4f1d9b';
const secret = new Secret(CANARY);

it('reveals its value where it is asked to', () => {
  expect(secret.reveal()).toBe(CANARY);
});

it.each<[name: string, shown: () => unknown]>([
  ['a template', () => `${secret}`],
  ['a sum', () => `x${String(secret)}${secret}`],
  ['String', () => String(secret)],
  ['JSON', () => JSON.stringify({ deep: [{ secret }] })],
  ['JSON of its spread', () => JSON.stringify({ ...secret })],
  ['inspect', () => inspect({ deep: { deeper: { secret } } }, { depth: 9, showHidden: true })],
  ['inspect without custom inspection', () => inspect(secret, { customInspect: false, showHidden: true })],
  ['inspect of its getters', () => inspect(secret, { getters: true, showProxy: true })],
  ['format', () => format('%s %o %O %j', secret, secret, secret, secret)],
  ['an error that is given it', () => inspect(new Error(`no ${secret}`, { cause: secret }))],
  ['its own names', () => JSON.stringify(Object.getOwnPropertyNames(secret))],
  ['its entries', () => JSON.stringify(Object.entries(secret))],
  ['structuredClone', () => inspect(structuredClone(secret), { showHidden: true })],
  ['v8.serialize', () => inspect(deserialize(serialize(secret)), { showHidden: true })],
  ['serialized bytes', () => serialize(secret).toString('latin1')],
  ['Object.assign', () => JSON.stringify(Object.assign({}, secret))],
  ['describeError', () => JSON.stringify(describeError(secret))],
  ['a log line', () => logged((log) => log.info({ secret, list: [secret], deep: { secret } }, 'line'))],
  ['a log line that is only it', () => logged((log) => log.info(secret))],
  ['a log line that formats it', () => logged((log) => log.info('%s %j %o', secret, secret, secret))],
])('is not shown by %s', (_, shown) => {
  expect(shown()).not.toContain(CANARY);
});

function logged(work: (log: ReturnType<typeof openLog>) => void): string {
  let text = '';
  work(openLog('test', 'debug', { write: (line) => (text += line) }));
  return text;
}
