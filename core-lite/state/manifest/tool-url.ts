/**
 * The URL of an HTTP tool, in its one spelling. A field of the input stands in a step of its path or in the value of a
 * parameter of its query, nowhere else: no input says which host is called, or which parameter is sent.
 */
import { invalid } from './fields.ts';
import { parseTemplate } from './template.ts';

/** Throws Fault `input_invalid`. @param carriesSecret it has a credential */
export function parseToolUrl(where: string, input: unknown, carriesSecret: boolean): string {
  const text = typeof input === 'string' && input.length <= MAX_URL_LENGTH ? input : '';
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw invalid(where, 'is not an http or https URL');
  if (url.username || url.password) throw invalid(where, 'holds a user or password: name a credential');
  if (url.hash) throw invalid(where, 'has a fragment, which is never sent');
  // A secret never crosses a network in the clear.
  if (carriesSecret && url.protocol !== 'https:')
    throw invalid(where, 'has a credential, so it must be https');
  if (CODED_BRACE.test(text) || /[{}]/.test(url.host)) throw invalid(where, MISPLACED);
  // The parser encodes braces in a path.
  const path = url.pathname.replaceAll('%7B', '{').replaceAll('%7D', '}');
  if (!hasFieldsOnly(path) || !url.search.slice(1).split('&').every(hasFieldsInValue)) {
    throw invalid(where, MISPLACED);
  }
  return url.origin + path + url.search;
}

function hasFieldsInValue(pair: string): boolean {
  const equals = pair.indexOf('=');
  const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)];
  return !/[{}]/.test(name) && hasFieldsOnly(value);
}

/** No brace is a part of a URL: all of them are those of fields. */
function hasFieldsOnly(text: string): boolean {
  return !/\{\{|\}\}/.test(text) && parseTemplate(text) !== null;
}

const CODED_BRACE = /%7[bd]/i;
const MISPLACED = 'has a brace that is not of a {field} in a step of its path or in a value of its query';
const MAX_URL_LENGTH = 2048;
