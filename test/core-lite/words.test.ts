/** The small parts: ids, versions, spelling, faults, decisions. */
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../cli/catalogue.ts';
import { Allow, Deny } from '../../core-lite/decision.ts';
import { Fault, isFault, LISTS, NoSuch } from '../../core-lite/errors.ts';
import { isId, makeId } from '../../core-lite/id.ts';
import { APPROVALS, ENDINGS, REFUSALS } from '../../core-lite/reasons.ts';
import { formatAddress, translateListenError } from '../../core-lite/service.ts';
import { nearest } from '../../core-lite/spelling.ts';
import { compareVersions, VERSION } from '../../core-lite/version.ts';

describe('ids', () => {
  it('have their prefix, 32 hex digits, and sort by the order in which they were made', () => {
    const made = Array.from({ length: 2_000 }, () => makeId('con'));
    expect(made.every((id) => isId('con', id))).toBe(true);
    expect(made.toSorted()).toEqual(made);
    expect(new Set(made).size).toBe(made.length);
  });

  const hex = '0199f3a2c4d87e0b9c3f1a2b3c4d5e6f';
  it.each<[value: unknown, is: boolean]>([
    [`env_${hex}`, true],
    [`ses_${hex}`, false],
    [`env_${hex.toUpperCase()}`, false],
    [`env_${hex}0`, false],
    [`env_${hex.slice(1)}`, false],
    [`env_${hex}\n`, false],
    [`\nenv_${hex}`, false],
    [`env_${hex.slice(1)}\0`, false],
    [`envx${hex}`, false],
    [`env_${'g'.repeat(32)}`, false],
    ['', false],
    [null, false],
    [7, false],
    [[`env_${hex}`], false],
    [{ toString: () => `env_${hex}` }, false],
  ])('%j is an env: %s', (value, is) => expect(isId('env', value)).toBe(is));
});

describe('versions', () => {
  it.each([
    ['1.2.3', '1.2.3', 0],
    ['1.2.3', '1.2.4', -1],
    ['1.10.0', '1.9.9', 1],
    ['2.0.0', '10.0.0', -1],
    ['0.1.0', '0.1.0', 0],
    ['1.2.3-rc.1', '1.2.4', -1],
    ['1.2.4', '1.2.3-rc.1', 1],
  ])('%s against %s', (a, b, sign) => {
    expect(Math.sign(compareVersions(a, b))).toBe(sign);
    expect(Math.sign(compareVersions(b, a))).toBe(-sign + 0);
  });

  it('ours is one', () => expect(VERSION).toMatch(/^\d+\.\d+\.\d+/));
});

describe('spelling', () => {
  it.each([
    ['listen', 'listne'],
    ['rotate-master', 'rotatemaster'],
    ['put', 'pu'],
    ['LONGER_NAME_OF_A_SETTING', 'LONGR_NAME_OFA_SETING'],
  ])('%s is near %s', (known, given) => expect(nearest(given, [known, 'zzzzzzzz'])).toBe(known));

  it.each([
    ['put', 'list'],
    ['SALLYPORT_HOME', 'SALLYPORT_SOMETHING'],
    ['x', ''],
  ])('%s is not near %s', (known, given) => {
    const found = nearest(given, [known]);
    expect(found === null || found === 'x').toBe(true);
  });

  it('knows nothing where nothing is known', () => expect(nearest('x', [])).toBeNull());
});

describe('faults', () => {
  it('have a status, a remedy and a cause that is not in their text', () => {
    const fault = new Fault('conflict', 'it is in use', new Error('canary'));
    expect(fault).toMatchObject({ code: 'conflict', status: 409, message: 'it is in use', name: 'Fault' });
    expect(fault.remedy).toMatch(/^[^\n]+[^.]$/);
    expect(`${fault} ${JSON.stringify(fault)}`).not.toContain('canary');
  });

  it('of a name that is not there say what lists the names, by a command that exists', () => {
    expect(new NoSuch('environment', 'x')).toMatchObject({
      code: 'not_found',
      status: 404,
      message: 'there is no environment x',
      remedy: 'see sallyport env list',
    });
    const commands = COMMANDS.map(({ name }) => name);
    expect(commands).toEqual(expect.arrayContaining(Object.values(LISTS)));
  });

  it.each<[error: unknown, is: boolean]>([
    [new Fault('conflict', 'x'), true],
    [new Fault('not_found', 'x'), false],
    [Object.assign(new Error('x'), { code: 'conflict' }), false],
    [{ code: 'conflict' }, false],
    [null, false],
  ])('isFault %#', (error, is) => expect(isFault(error, 'conflict')).toBe(is));
});

it.each([
  ['EADDRINUSE', 'port_taken'],
  ['EACCES', 'port_taken'],
  ['EADDRNOTAVAIL', 'port_taken'],
  ['EMFILE', 'EMFILE'],
])('a listener’s %s is %s', (code, known) => {
  const error = translateListenError(Object.assign(new Error('x'), { code }), { host: '::1', port: 80 });
  expect(error).toMatchObject({ code: known });
  if (known === 'port_taken') expect((error as Error).message).toContain('[::1]:80');
});

it.each([
  ['127.0.0.1', '127.0.0.1:80'],
  ['::', '[::]:80'],
])('%s is written %s', (host, text) => expect(formatAddress({ host, port: 80 })).toBe(text));

describe('decisions', () => {
  it('say their verdict', () => {
    expect(new Allow('allowlisted').verdict).toBe('allowed');
    expect(new Allow('reported').verdict).toBe('reported');
    expect(new Deny('host_denied').verdict).toBe('denied');
  });

  it('have reasons in snake_case, each with a text and what to do', () => {
    for (const [reason, { status, text, remedy }] of Object.entries(REFUSALS)) {
      expect(reason).toMatch(/^[a-z]+(_[a-z0-9]+)*$/);
      expect(status).toBeGreaterThanOrEqual(400);
      // They stand in a header: visible ASCII, one line.
      expect(`${text}${remedy}`).toMatch(/^[ -~]+[^.]$/);
    }
    for (const text of [...Object.values(APPROVALS), ...Object.values(ENDINGS)])
      expect(text).toMatch(/^[ -~]+$/);
  });
});
