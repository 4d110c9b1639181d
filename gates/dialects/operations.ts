/**
 * What can be asked in each dialect. Gemini names the model and what is asked in its path, the others name the model in
 * the body and have a path for each. What stands behind a dialect's own path is the same at a provider as it is here.
 */
import type { Dialect } from '../../core-lite/state/dialect.ts';
import type { RefusalReason } from '../reasons.ts';

export interface Operation {
  readonly dialect: Dialect;
  /** What stands behind the dialect's own path. */
  readonly suffix: string;
  /** Whether the answer comes in pieces; some say it in the body. */
  readonly streamed: boolean | 'body';
  /** Only asks how many tokens a call would have: nothing is generated and nothing is owed. */
  readonly counts: boolean;
}

export const OPERATIONS = {
  chat: { dialect: 'openai', suffix: '', streamed: 'body', counts: false },
  respond: { dialect: 'responses', suffix: '', streamed: 'body', counts: false },
  embed: { dialect: 'embeddings', suffix: '', streamed: false, counts: false },
  message: { dialect: 'anthropic', suffix: '', streamed: 'body', counts: false },
  countMessage: { dialect: 'anthropic', suffix: '/count_tokens', streamed: false, counts: true },
  generate: { dialect: 'gemini', suffix: ':generateContent', streamed: false, counts: false },
  streamGenerate: { dialect: 'gemini', suffix: ':streamGenerateContent', streamed: true, counts: false },
  countGenerate: { dialect: 'gemini', suffix: ':countTokens', streamed: false, counts: true },
} as const satisfies Readonly<Record<string, Operation>>;

/** Where each dialect is called, as its clients are told. */
export const DIALECT_ROUTES: Readonly<Record<Dialect, string>> = {
  openai: 'POST /v1/chat/completions',
  responses: 'POST /v1/responses',
  embeddings: 'POST /v1/embeddings',
  anthropic: 'POST /v1/messages',
  gemini: 'POST /v1beta/models/{model}:generateContent',
};

/** The paths, behind their version, of what is asked with the model's name in the body. */
export const BODY_PATHS: Readonly<Record<string, Operation>> = {
  '/chat/completions': OPERATIONS.chat,
  '/responses': OPERATIONS.respond,
  '/embeddings': OPERATIONS.embed,
  '/messages': OPERATIONS.message,
  '/messages/count_tokens': OPERATIONS.countMessage,
};

/**
 * What is asked of which model.
 * @param rest what stands behind `/models/` in the path, decoded: `fixture/echo:generateContent`
 */
export function parseModelPath(
  rest: string,
): { readonly operation: Operation; readonly model: string } | RefusalReason {
  // A name may have colons of its own.
  const colon = rest.lastIndexOf(':');
  const method = rest.slice(colon + 1);
  const operation = colon < 0 || !Object.hasOwn(METHODS, method) ? undefined : METHODS[method];
  if (!operation) return 'route_unknown';
  return colon === 0 ? 'model_missing' : { operation, model: rest.slice(0, colon) };
}

const METHODS: Readonly<Record<string, Operation>> = {
  generateContent: OPERATIONS.generate,
  streamGenerateContent: OPERATIONS.streamGenerate,
  countTokens: OPERATIONS.countGenerate,
};
