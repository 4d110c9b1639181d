/**
 * How an environment secret is put on a request: the forms, what is asked of each, and how they are stored. What puts
 * it on is egress/act/inject.ts.
 */
import { Fault } from '../errors.ts';

export type Placement = HeaderPlacement | BasicPlacement | QueryPlacement | ReplacePlacement;

/** The header is set. `{}` in the format stands for the secret. */
interface HeaderPlacement {
  readonly kind: 'header';
  /** In lower case. */
  readonly header: string;
  readonly format: string;
}

/** `Authorization: Basic`, with the secret as the password. */
interface BasicPlacement {
  readonly kind: 'basic';
  readonly user: string;
}

/** The parameter of the target's query is set. */
interface QueryPlacement {
  readonly kind: 'query';
  readonly name: string;
}

/** The placeholder is replaced wherever the client put it, in these headers and parameters only. */
interface ReplacePlacement {
  readonly kind: 'replace';
  readonly placeholder: string;
  /** In lower case. */
  readonly headers: readonly string[];
  readonly query: readonly string[];
}

/** As an operator gives it: a header form may leave out its kind, a replace form its placeholder and one of its lists. */
export type PlacementInput =
  | (Omit<HeaderPlacement, 'kind'> & { readonly kind?: 'header' })
  | BasicPlacement
  | QueryPlacement
  | (Pick<ReplacePlacement, 'kind'> & Partial<ReplacePlacement>);

/** Throws Fault `input_invalid` with the first thing that is wrong. */
export function parsePlacement(input: PlacementInput = DEFAULT_PLACEMENT): Placement {
  switch (input.kind) {
    case undefined:
    case 'header':
      return parseHeader(input);
    case 'basic':
      return parseBasic(input);
    case 'query':
      return { kind: 'query', name: checkParameter(input.name) };
    case 'replace':
      return parseReplace(input);
    default:
      return input satisfies never;
  }
}

/** Rows of before there were other forms have a header's, without a kind. */
export type StoredPlacement = Placement | Omit<HeaderPlacement, 'kind'>;

export function readStoredPlacement(stored: StoredPlacement): Placement {
  return 'kind' in stored ? stored : { kind: 'header', ...stored };
}

/** Throws Fault `input_invalid` where a secret cannot stand in a header of this name. */
export function checkHeader(name: string): void {
  if (!HEADER_NAME.test(name)) throw invalid(`"${name}" is not a header name`);
  if (FRAMING_HEADERS.has(name.toLowerCase()))
    throw invalid(`the header ${name} belongs to the connection and cannot carry a secret`);
}

function parseHeader({ header, format }: Omit<HeaderPlacement, 'kind'>): Placement {
  checkHeader(header);
  if (format.split('{}').length !== 2 || !HEADER_VALUE.test(format)) {
    throw invalid('a placement’s format holds {} once, where the secret goes');
  }
  return { kind: 'header', header: header.toLowerCase(), format };
}

function parseBasic({ user }: BasicPlacement): Placement {
  // RFC 7617 2: what stands behind the first colon is the password.
  if (!BASIC_USER.test(user)) throw invalid('the user of a Basic value is visible ASCII without a colon');
  return { kind: 'basic', user };
}

function parseReplace(input: Partial<ReplacePlacement>): Placement {
  const { placeholder = SENTINEL, headers = [], query = [] } = input;
  if (!PLACEHOLDER.test(placeholder)) {
    throw invalid(
      'a placeholder is 8 to 128 letters, digits, - . _ or ~, so that it reads the same everywhere',
    );
  }
  if (headers.length + query.length === 0) {
    throw invalid('a replace placement names the headers or query parameters that its placeholder stands in');
  }
  for (const header of headers) checkHeader(header);
  return {
    kind: 'replace',
    placeholder,
    headers: [...new Set(headers.map((header) => header.toLowerCase()))],
    query: [...new Set(query.map(checkParameter))],
  };
}

function checkParameter(name: string): string {
  if (!PARAMETER.test(name)) throw invalid('a query parameter is named by 1 to 128 visible ASCII characters');
  return name;
}

function invalid(what: string): Fault {
  return new Fault('input_invalid', what);
}

/** What stands in the pod where a secret would. */
export const SENTINEL = 'sallyport-managed';
/** RFC 9110 5.5: visible ASCII and inner spaces; no obs-text, so that every client and origin reads the same bytes. */
export const HEADER_VALUE = /^[!-~](?:[ \t!-~]*[!-~])?$/;
const DEFAULT_PLACEMENT: Placement = { kind: 'header', header: 'authorization', format: 'Bearer {}' };
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const BASIC_USER = /^(?!.*:)[ -~]{0,256}$/;
const PARAMETER = /^[!-~]{1,128}$/;
/** The unreserved characters of RFC 3986 2.3: no client and no encoding changes them. */
const PLACEHOLDER = /^[A-Za-z0-9._~-]{8,128}$/;
const FRAMING_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
