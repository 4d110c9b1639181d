import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../core-lite/errors.ts';
import { describeError, type Logger, openLog } from '../../core-lite/log.ts';

const CANARY = 'canary-8c2e77';

describe('a planted secret is in no line', () => {
  const inMessage = new Error(`refused ${CANARY}`);
  it.each<[name: string, work: (log: Logger) => void]>([
    ['err with a message', (log) => log.error({ err: inMessage }, 'failed')],
    ['err without a message', (log) => log.error({ err: inMessage })],
    ['error without a message', (log) => log.error({ error: inMessage })],
    ['an error alone', (log) => log.error(inMessage)],
    ['an error with a message', (log) => log.error(inMessage, 'failed')],
    [
      'an error of the database under another name',
      (log) => log.error({ reason: databaseError() }, 'failed'),
    ],
    ['an error of the database', (log) => log.error({ err: databaseError() }, 'failed')],
    ['a cause', (log) => log.error({ err: new Error('outer', { cause: inMessage }) }, 'failed')],
    ['a cause that is text', (log) => log.error({ err: new Error('outer', { cause: CANARY }) }, 'failed')],
    ['the cause of a fault', (log) => log.error({ err: new Fault('internal', 'ours', inMessage) }, 'failed')],
    [
      'errors of an aggregate',
      (log) => log.error({ err: new AggregateError([inMessage], CANARY) }, 'failed'),
    ],
    ['a thrown text', (log) => log.error({ err: CANARY }, 'failed')],
    ['a thrown object', (log) => log.error({ err: { token: CANARY } }, 'failed')],
    ['own fields', (log) => log.error({ err: Object.assign(new Error('x'), { claims: CANARY }) }, 'failed')],
    [
      'a message that looks like a frame',
      (log) => log.error({ err: new Error(`x\n    at ${CANARY}`) }, 'failed'),
    ],
    [
      'a frame-like message that was changed since',
      (log) =>
        log.error({ err: Object.assign(new Error(`x\n    at ${CANARY}`), { message: 'y' }) }, 'failed'),
    ],
    [
      'headers',
      (log) => log.info({ headers: { authorization: CANARY, 'proxy-authorization': CANARY } }, 'call'),
    ],
    ['headers of a request', (log) => log.info({ request: { headers: { authorization: CANARY } } }, 'call')],
    ['a field named token', (log) => log.info({ token: CANARY, call: { token: CANARY } }, 'call')],
    ['a field named secret', (log) => log.info({ secret: CANARY, call: { secret: CANARY } }, 'call')],
    ['a field named password', (log) => log.info({ password: CANARY, call: { password: CANARY } }, 'call')],
  ])('%s', (_, work) => {
    let text = '';
    work(openLog('test', 'debug', { write: (line) => (text += line) }));
    expect(text).toMatch(/^\{.*\}\n$/);
    expect(text).not.toContain(CANARY);
  });
});

it('writes one line of JSON with the service, the level as a word and the time', () => {
  let text = '';
  const log = openLog('egress', 'info', { write: (line) => (text += line) });
  log.debug('not this');
  log.info({ host: 'a.example' }, 'call');
  expect(JSON.parse(text)).toMatchObject({
    level: 'info',
    service: 'egress',
    host: 'a.example',
    msg: 'call',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
  });
});

describe('describeError', () => {
  it('tells class, code, constraint, table and where, and the text of our own faults', () => {
    expect(describeError(databaseError())).toEqual({
      name: 'error',
      code: '23505',
      constraint: 'admin_keys_hash_key',
      table: 'admin_keys',
      at: expect.any(Array),
    });
    expect(describeError(new Fault('conflict', 'in use', new RangeError('x')))).toMatchObject({
      name: 'Fault',
      code: 'conflict',
      what: 'in use',
      cause: { name: 'RangeError' },
    });
  });

  it('tells the first frames', () => {
    const { at } = describeError(new Error('x')) as { at: string[] };
    expect(at.length).toBeGreaterThan(0);
    expect(at[0]).toContain('log.test.ts');
  });

  it('ends where causes go in a circle', () => {
    const error = new Error('x');
    error.cause = error;
    expect(() => describeError(error)).not.toThrow();
  });

  it.each([null, undefined, 7, 'text', {}, []])('of %j is only its type', (thrown) => {
    expect(describeError(thrown)).toEqual({ name: typeof thrown });
  });
});

function databaseError(): Error {
  return Object.assign(new pg.DatabaseError(`duplicate ${CANARY}`, 1, 'error'), {
    code: '23505',
    constraint: 'admin_keys_hash_key',
    table: 'admin_keys',
    detail: `Key (hash)=(${CANARY}) already exists.`,
    where: CANARY,
  });
}
