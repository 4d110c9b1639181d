/** docs/mcp.md: its manifest is one, it names each field of a server, and each code of a call with its status. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseManifest } from '../../core-lite/state/manifest/manifest.ts';
import { readToolCall } from '../../gates/mcp/keyed/read-body.ts';
import { CODES_OF_DENIALS, codeFailure, TOOL_CODES } from '../../gates/mcp/keyed/tool-codes.ts';
import { UPSTREAM_FAILURES, type UpstreamFailure } from '../../gates/mcp/upstream/failures.ts';

const text = readFileSync(new URL('../../docs/mcp.md', import.meta.url), 'utf8');
const block = (kind: string): string =>
  new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\``, 'ms').exec(text)?.[1] ?? '';
const section = (title: string): string => text.split(`## ${title}`)[1]?.split('\n## ')[0] ?? '';

describe('docs/mcp.md', () => {
  const { mcpServers } = parseManifest(JSON.parse(block('json')));

  it('has a row for each field of a server, and no other', () => {
    const rows = [...section('The fields of a server').matchAll(/^\| `(\w+)` \|/gm)].map((row) => row[1]);
    expect(rows.toSorted()).toEqual(Object.keys(mcpServers['github'] ?? {}).toSorted());
  });

  it('shows a call that is taken', () => {
    const body = /-d '(.*)'/.exec(block('sh'))?.[1] ?? '';
    const read = readToolCall(Buffer.from(body));
    expect(Object.keys(mcpServers)).toContain(typeof read === 'string' ? read : read.server);
  });

  it('has each code beside its status', () => {
    const told = new Map(
      [...section('Calls under a key').matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].flatMap(
        ([, status, codes = '']) =>
          [...codes.matchAll(/`([\w.-]+)`/g)].map(([, code]) => [code, status] as const),
      ),
    );
    expect([...told.keys()].toSorted()).toEqual(Object.keys(TOOL_CODES).toSorted());
    for (const code of Object.values(CODES_OF_DENIALS)) expect(told.get(code)).toBe('failed');
    for (const failure of Object.keys(UPSTREAM_FAILURES) as UpstreamFailure[]) {
      for (const mayHaveRun of [true, false]) {
        const { code, status } = codeFailure(failure, mayHaveRun);
        expect([failure, told.get(code)]).toEqual([failure, status]);
      }
    }
  });
});
