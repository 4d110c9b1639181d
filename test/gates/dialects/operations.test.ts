/** What a path asks of which model. */
import { describe, expect, it } from 'vitest';
import { OPERATIONS, parseModelPath } from '../../../gates/dialects/operations.ts';

const GOOD: readonly (readonly [rest: string, model: string, operation: object])[] = [
  ['gemini-2.5-flash:generateContent', 'gemini-2.5-flash', OPERATIONS.generate],
  ['m:streamGenerateContent', 'm', OPERATIONS.streamGenerate],
  ['m:countTokens', 'm', OPERATIONS.countGenerate],
  ['fixture/echo:generateContent', 'fixture/echo', OPERATIONS.generate],
  ['llama:8b:generateContent', 'llama:8b', OPERATIONS.generate],
];
const BAD: readonly (readonly [rest: string, reason: string])[] = [
  ['', 'route_unknown'],
  ['m', 'route_unknown'],
  ['m:embedContent', 'route_unknown'],
  ['m:toString', 'route_unknown'],
  ['m:generateContent/x', 'route_unknown'],
  ['m:GenerateContent', 'route_unknown'],
  [':generateContent', 'model_missing'],
];

describe('a path that names the model', () => {
  for (const [rest, model, operation] of GOOD)
    it(`is read: ${rest}`, () => expect(parseModelPath(rest)).toEqual({ model, operation }));
  for (const [rest, reason] of BAD)
    it(`is refused: ${rest || 'nothing'}`, () => expect(parseModelPath(rest)).toBe(reason));
});
