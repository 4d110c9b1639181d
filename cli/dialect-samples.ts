/** One small call in each dialect: where it goes at the gates, what it asks, and where its answer has what was said. */
import type { Dialect } from '../core-lite/state/dialect.ts';

export interface Sample {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
  /** What was said, from the answer's JSON; anything else where it was not said there. */
  readonly said: (answer: Json) => unknown;
}

/** JSON in which any field may be asked for and may not be there. */
export interface Json {
  readonly [name: string]: Json | undefined;
}

export function sample(dialect: Dialect, model: string, text: string): Sample {
  const messages = [{ role: 'user', content: text }];
  switch (dialect) {
    case 'openai':
      return {
        path: '/v1/chat/completions',
        body: { model, messages },
        said: ({ choices }) => choices?.[0]?.['message']?.['content'],
      };
    case 'responses':
      return { path: '/v1/responses', body: { model, input: text }, said: saidInResponse };
    case 'embeddings':
      return {
        path: '/v1/embeddings',
        body: { model, input: text },
        said: ({ data }) => `${data?.[0]?.['embedding']?.['length'] ?? 0} numbers`,
      };
    case 'anthropic':
      return {
        path: '/v1/messages',
        headers: { 'anthropic-version': '2023-06-01' },
        body: { model, max_tokens: MAX_TOKENS, messages },
        said: ({ content }) => content?.[0]?.['text'],
      };
    case 'gemini':
      return {
        path: `/v1beta/models/${encodeURIComponent(model)}:generateContent`,
        body: { contents: [{ role: 'user', parts: [{ text }] }] },
        said: ({ candidates }) => candidates?.[0]?.['content']?.['parts']?.[0]?.['text'],
      };
    default:
      return dialect satisfies never;
  }
}

/** What was reasoned may stand before it. */
function saidInResponse({ output }: Json): unknown {
  const items: readonly Json[] = Array.isArray(output) ? output : [];
  return items.find((item) => String(item['type']) === 'message')?.['content']?.[0]?.['text'];
}

const MAX_TOKENS = 64;
