/** Arguments against the schemas of servers, which may be hostile. */
import { expect, it } from 'vitest';
import { ArgumentSchemas } from '../../../../gates/mcp/see/argument-schemas.ts';

const schemas = new ArgumentSchemas();

it.each([
  [{ type: 'object', required: ['n'], properties: { n: { type: 'integer' } } }, { n: 1 }, null],
  [{ type: 'object', properties: { n: { type: 'integer' } } }, { n: 'secret' }, 'input/n must be integer'],
  [{ type: 'object', properties: { pattern: { type: 'string' } } }, { pattern: '(' }, null],
  [
    { $defs: { a: { type: 'string' } }, properties: { x: { $ref: '#/$defs/a' } } },
    { x: 1 },
    'input/x must be string',
  ],
  [{ type: 'object', prefixItems: 3 }, {}, 'the tool’s input schema is not a JSON Schema that can be used'],
  [
    { properties: { x: { $ref: 'https://elsewhere.test/schema.json' } } },
    { x: 1 },
    'the tool’s input schema is not a JSON Schema that can be used',
  ],
])('%j of %j', (schema, args, said) => {
  expect(schemas.judge(schema, args)).toBe(said);
});

it('gives up on a pattern that takes for ever, and soon asks no more', () => {
  const schema = { properties: { x: { type: 'string', pattern: '^(a+)+$' } } };
  const args = { x: `${'a'.repeat(50)}!` };
  expect(schemas.judge(schema, args)).toMatch(/takes too long/);
  const before = performance.now();
  for (let i = 0; i < 20; i += 1) {
    expect(schemas.judge(structuredClone(schema), args)).toMatch(/takes too long/);
  }
  expect(performance.now() - before).toBeLessThan(2_000);
  expect(schemas.judge({ properties: { x: { pattern: '^a' } } }, { x: 'b' })).toMatch(/must match pattern/);
});

it('gives up on a nest of alternatives that takes for ever', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => {
      const $ref = `#/$defs/d${i + 1}`;
      return [
        `d${i}`,
        {
          anyOf: [
            { $ref, type: 'object' },
            { $ref, minProperties: 0 },
          ],
        },
      ];
    }),
  );
  const schema = { $ref: '#/$defs/d0', $defs: { ...$defs, d40: false } };
  expect(schemas.judge(schema, {})).toMatch(/takes too long/);
});

it('takes no schema that is nested without end', () => {
  let schema: object = {};
  for (let i = 0; i < 5_000; i += 1) schema = { not: schema };
  expect(schemas.judge(schema, {})).toMatch(/nested too deep/);
});
