/** Names from outside that every object has by inheritance: no table of the gates takes one for its own. */
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { parseModelPath } from '../../gates/dialects/operations.ts';
import { makeArguments } from '../../gates/fixture/arguments.ts';
import { Meter } from '../../gates/meter.ts';
import { readBody } from '../../gates/read/body.ts';
import { startRig } from '../support/relay-rig.ts';

const NAMES = Object.getOwnPropertyNames(Object.prototype);
const USAGE = '{"prompt_tokens":3,"completion_tokens":4}';

describe('a name that every object has', () => {
  for (const name of [...NAMES, ...NAMES.map((each) => each.toLowerCase())]) {
    it(`is no coding of a request: ${name}`, async () => {
      expect(await readBody(Buffer.from('{}'), name, 100)).toBe('encoding_refused');
    });

    it(`is no coding that a meter reads: ${name}`, async () => {
      const meter = new Meter('openai', 'application/json', name, 'ses_1');
      meter.see(Buffer.from(`{"usage":${USAGE}}`));
      expect(await meter.read()).toMatchObject({ tokens: { input: null, output: null }, finished: false });
    });

    it(`is no method of a model: ${name}`, () => {
      expect(parseModelPath(`m:${name}`)).toBe('route_unknown');
    });

    it(`is no format of a text, no property and no reference: ${name}`, () => {
      const text = { type: 'string', format: name };
      const schema = { properties: { a: text, b: { $ref: `#/${name}` } }, required: ['a', 'b', name] };
      expect(JSON.parse(makeArguments(schema))).toMatchObject({ a: 'text', b: 'text' });
    });

    it(`is a count as any other that is not known: ${name}`, async () => {
      const meter = new Meter('openai', 'application/json', '', 'ses_1');
      meter.see(Buffer.from(`{"usage":{"${name}":{"prompt_tokens":9},${USAGE.slice(1)}}`));
      expect((await meter.read()).tokens).toMatchObject({ input: 3, output: 4 });
      const only = new Meter('openai', 'application/json', '', 'ses_1');
      only.see(Buffer.from(`{"usage":{"${name}":${USAGE}}}`));
      expect((await only.read()).tokens).toMatchObject({ input: null, output: null });
    });
  }

  it('passes as the coding of an answer, which is then looked at as it is', async () => {
    for (const name of NAMES) {
      const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: ${name}\r\n`;
      const script = (socket: Socket): void => {
        // In two reads: the second one finds the answer in its course.
        socket.write(`${head}Content-Length: 4\r\n\r\n{`, () => setImmediate(() => socket.write('"k}')));
      };
      const rig = await startRig({ secrets: ['"k'], script });
      const reply = await rig.ask();
      await rig.close();
      expect([name, reply.status, reply.text, reply.whole]).toEqual([name, 200, '{**}', true]);
      expect(rig.ends).toMatchObject([{ failure: null }]);
    }
  });
});
