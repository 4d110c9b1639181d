/** The table of providers in docs/models.md is written from the data (`vitest run test/docs -u` writes it anew). */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { PROVIDERS } from '../../core-lite/providers/catalogue.ts';
import type { Provider, UsageMarks } from '../../core-lite/providers/provider.ts';

const path = fileURLToPath(new URL('../../docs/models.md', import.meta.url));

it('docs/models.md has every provider as it is', async () => {
  const [before, rest = ''] = readFileSync(path, 'utf8').split(/(?<=<!-- providers: .* -->\n)/);
  const after = rest.slice(rest.indexOf('<!-- /providers -->'));
  await expect(`${before}${renderProviders()}${after}`).toMatchFileSnapshot(path);
});

function renderProviders(): string {
  const head = [
    '| `--provider` | whose | base URL | dialect: path | the key goes on as |',
    '| --- | --- | --- | --- | --- |',
  ];
  const usage = ['', 'Where usage is told elsewhere than in the dialect’s own place:', ''];
  const marks = PROVIDERS.flatMap(({ title, services }) =>
    Object.entries(services).flatMap(([dialect, { usage: its }]) =>
      its ? [`- ${title}, ${dialect}: ${renderUsage(its)}`] : [],
    ),
  );
  return [...head, ...PROVIDERS.map(renderProvider), ...usage, ...marks, ''].join('\n');
}

function renderUsage({ at, cached, cost, reasoningApart }: UsageMarks): string {
  const said = [
    at && `in \`${at.join('.')}\`, too`,
    cached && `\`${cached}\` is what came from the cache`,
    cost && `\`${cost}\` is what it cost, in US dollars`,
    reasoningApart && 'the output leaves out what was reasoned',
  ];
  return said.filter((text) => text).join('; ');
}

function renderProvider({ name, title, baseUrl, services }: Provider): string {
  const served = Object.entries(services);
  const paths = served.map(([dialect, { path: below, named }]) => {
    const text = `${dialect}: \`${below}\``;
    return named ? `(${text})` : text;
  });
  const keys = [...new Set(served.map(([, { key }]) => key))].map((key) => {
    const dialects = served.filter(([, service]) => service.key === key).map(([dialect]) => dialect);
    const shown = key === 'bearer' ? '`Authorization: Bearer`' : `\`${key}\``;
    return dialects.length === served.length ? shown : `${shown} (${dialects.join(', ')})`;
  });
  const url = baseUrl ? `\`${baseUrl}\`` : '`--url`';
  return `| \`${name}\` | ${title} | ${url} | ${paths.join('<br>')} | ${keys.join('<br>')} |`;
}
