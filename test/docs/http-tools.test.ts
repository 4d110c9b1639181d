/** docs/http-tools.md: its manifest is one, its call makes the request that it shows, and it names each field. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseManifest } from '../../core-lite/state/manifest/manifest.ts';
import { makeToolRequest } from '../../gates/read/tool-request.ts';

const text = readFileSync(new URL('../../docs/http-tools.md', import.meta.url), 'utf8');
const block = (kind: string): string =>
  new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\``, 'ms').exec(text)?.[1] ?? '';

describe('docs/http-tools.md', () => {
  const { httpTools } = parseManifest(JSON.parse(block('json')));

  it('shows a call and its request', () => {
    const [, name = ''] = /http-calls\/([\w-]+)/.exec(block('sh')) ?? [];
    const { input } = JSON.parse(/-d '(.*)'/.exec(block('sh'))?.[1] ?? '');
    const tool = httpTools[name];
    if (!tool) throw new Error(`the example declares no tool ${name}`);
    expect(makeToolRequest(tool, input)).toMatchObject({
      method: 'POST',
      path: /^POST (\S+) HTTP/.exec(block('http'))?.[1],
      body: block('http').split('\n\n')[1]?.trim(),
    });
  });

  it('has a row for each field of a tool, and no other', () => {
    const table = text.split('## The fields of a tool')[1]?.split('\n## ')[0] ?? '';
    const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map((row) => row[1]);
    expect(rows.toSorted()).toEqual(Object.keys(httpTools['search'] ?? {}).toSorted());
  });
});
