/**
 * How an environment secret is put on requests, and on which, as options of `credential put` and as text. What a
 * placement may be is core's to say; here it is only one form that is asked for.
 */
import type { Placement, PlacementInput } from '../core-lite/vault/placement.ts';
import type { RequestRules } from '../core-lite/vault/request-rules.ts';
import type { OptionRule, Values } from './command.ts';
import { usageError } from './command-error.ts';

export const PLACEMENT_OPTIONS = {
  header: { type: 'string', value: 'NAME', help: 'the header that is set to it; default authorization' },
  format: {
    type: 'string',
    value: 'TEXT',
    help: "the header's value, {} where the secret goes; default 'Bearer {}' in authorization, else '{}'",
  },
  'basic-user': {
    type: 'string',
    value: 'USER',
    help: 'sets Authorization: Basic to this user with the secret as password (git: x-access-token)',
  },
  query: { type: 'string', value: 'NAME', help: 'sets this parameter of the query to it' },
  replace: {
    type: 'boolean',
    help: 'puts it where the client sends the placeholder instead; for clients that insist on a key of their own',
  },
  'in-header': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'with --replace: a header that the placeholder may stand in, also inside Basic; default authorization',
  },
  'in-query': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'with --replace: a parameter of the query that it may stand in',
  },
  placeholder: {
    type: 'string',
    value: 'TEXT',
    help: 'with --replace: another placeholder than sallyport-managed, for clients that judge a key by its look',
  },
  path: {
    type: 'string',
    multiple: true,
    value: 'PATH',
    help: 'only on requests for this path; /v1/ is everything below it, and the longest that covers a request wins',
  },
  method: { type: 'string', multiple: true, value: 'METHOD', help: 'only on requests with this method' },
} as const satisfies Readonly<Record<string, OptionRule>>;

type Given = Values<typeof PLACEMENT_OPTIONS>;

/** `undefined` where core's default will do. Throws a usage error where two forms are asked for. */
export function readPlacement(options: Given): PlacementInput | undefined {
  const asked = FORMS.filter(({ options: names }) => names.some((name) => options[name] !== undefined));
  const [form, other] = asked;
  if (form && other) {
    const [one, two] = [form, other].map(({ options: names }) =>
      names.find((name) => options[name] !== undefined),
    );
    throw usageError(
      `--${one} and --${two} are two ways to put one secret on`,
      `make a credential for each. ${HINT}`,
    );
  }
  return form?.read(options);
}

/** `undefined` where it goes on every request. */
export function readRules({ path: paths, method: methods }: Given): Partial<RequestRules> | undefined {
  if (!paths && !methods) return undefined;
  return { ...(paths ? { paths } : {}), ...(methods ? { methods } : {}) };
}

/** In few words, for lists. */
export function describePlacement(placement: Placement): string {
  switch (placement.kind) {
    case 'header':
      return `as header ${placement.header}: ${placement.format}`;
    case 'basic':
      return `as Basic, user ${placement.user || '(none)'}`;
    case 'query':
      return `as parameter ${placement.name}`;
    case 'replace': {
      const places = [...placement.headers, ...placement.query.map((name) => `?${name}`)];
      return `in place of ${placement.placeholder} in ${places.join(' ')}`;
    }
    default:
      return placement satisfies never;
  }
}

/** Empty where it goes on every request. */
export function describeRules({ paths, methods }: RequestRules): string {
  return [...methods, ...paths].join(' ');
}

const FORMS: readonly {
  readonly options: readonly (keyof Given)[];
  readonly read: (options: Given) => PlacementInput;
}[] = [
  { options: ['header', 'format'], read: readHeader },
  { options: ['basic-user'], read: (options) => ({ kind: 'basic', user: options['basic-user'] ?? '' }) },
  { options: ['query'], read: (options) => ({ kind: 'query', name: options.query ?? '' }) },
  { options: ['replace', 'in-header', 'in-query', 'placeholder'], read: readReplace },
];

function readHeader({ header = 'authorization', format }: Given): PlacementInput {
  return {
    kind: 'header',
    header,
    format: format ?? (header.toLowerCase() === 'authorization' ? 'Bearer {}' : '{}'),
  };
}

function readReplace(options: Given): PlacementInput {
  const { placeholder, 'in-header': headers, 'in-query': query } = options;
  return {
    kind: 'replace',
    headers: headers ?? (query ? [] : ['authorization']),
    query: query ?? [],
    ...(placeholder === undefined ? {} : { placeholder }),
  };
}

const HINT = 'See sallyport credential put --help';
