/** What a server is told of a client, and may ask of it: what the manifest lets it, and no more. */
import { describe, expect, it } from 'vitest';
import {
  judgeInput,
  mostOf,
  restrictAsked,
  restrictWay,
} from '../../../../gates/mcp/middle/client-rights.ts';
import type { Asked, Way } from '../../../../gates/mcp/upstream/server.ts';

const NOTHING = mostOf({ sampling: false, elicitation: false, roots: false });
const ELICITATION = mostOf({ sampling: false, elicitation: true, roots: false });
const ALL = mostOf({ sampling: true, elicitation: true, roots: true });
const CAN = { sampling: { tools: {} }, elicitation: { form: {}, url: {} }, extensions: { 'x/y': {} } };
const asked: Asked = {
  method: 'tools/call',
  params: {},
  meta: {
    client: { info: { name: 'x' }, capabilities: CAN },
    logLevel: null,
    wantsProgress: false,
    rest: {},
  },
};

describe('what it is told', () => {
  it.each([
    ['modern', NOTHING, { extensions: CAN.extensions }],
    ['modern', ELICITATION, { elicitation: CAN.elicitation, extensions: CAN.extensions }],
    ['modern', ALL, CAN],
    ['legacy', NOTHING, {}],
    ['legacy', ELICITATION, { elicitation: {} }],
    ['legacy', ALL, { sampling: {}, elicitation: {}, roots: { listChanged: true } }],
  ] as const)('in the %s era, with %j', (era, rights, told) => {
    const { client } = restrictAsked(asked, rights, era).meta;
    expect(client).toEqual({ info: { name: 'x' }, capabilities: told });
  });
});

describe('what it may ask', () => {
  const METHODS = ['sampling/createMessage', 'elicitation/create', 'roots/list', 'ping', 'constructor'];
  it.each([
    [NOTHING, ['ping']],
    [ELICITATION, ['elicitation/create', 'ping']],
    [ALL, ['sampling/createMessage', 'elicitation/create', 'roots/list', 'ping']],
  ])('with %j', async (rights, allowed) => {
    const heard: string[] = [];
    const way = {
      onRequest: async ({ method }: { method: string }) => {
        heard.push(method);
        return { result: {} };
      },
    } as unknown as Way;
    const signal = new AbortController().signal;
    for (const method of METHODS) {
      const answer = await restrictWay(way, rights).onRequest({ method, params: {} }, signal);
      expect('result' in answer).toBe(allowed.includes(method));
      const result = { resultType: 'input_required', inputRequests: { q: { method, params: {} } } };
      expect(judgeInput({ result }, rights) === null).toBe(allowed.includes(method));
    }
    expect(heard).toEqual(allowed);
  });

  it('is told to have asked for too much, where the call may have run', () => {
    const result = { resultType: 'input_required', inputRequests: { q: 'no question' } };
    expect(judgeInput({ result }, ALL)).toMatchObject({ failure: 'malformed', mayHaveRun: true });
    expect(judgeInput({ result: { content: [] } }, NOTHING)).toBeNull();
  });
});
