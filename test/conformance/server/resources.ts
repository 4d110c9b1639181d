/** Resources of the conformance server. */
import type { ReadResourceResult } from '@modelcontextprotocol/server';
import { IMAGE } from './media.ts';

type Content = ReadResourceResult['contents'][number];

const HELD: readonly Content[] = [
  {
    uri: 'test://static-text',
    mimeType: 'text/plain',
    text: 'This is the content of the static text resource.',
  },
  { uri: 'test://static-binary', mimeType: 'image/png', blob: IMAGE },
  { uri: 'test://watched-resource', mimeType: 'text/plain', text: 'Watched resource content' },
];

export const RESOURCES = HELD.map(({ uri, mimeType }) => ({
  uri,
  name: uri.slice('test://'.length),
  description: `The resource ${uri}`,
  ...(mimeType ? { mimeType } : {}),
}));

export const TEMPLATES = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: 'Data by its id',
    mimeType: 'application/json',
  },
];

export function readResource(uri: string): Content | undefined {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) return HELD.find((each) => each.uri === uri);
  const text = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
  return { uri, mimeType: 'application/json', text };
}
