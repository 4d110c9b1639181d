/**
 * The dialects in which models are called: what a route takes and gives, as its provider documents it. The gates pass
 * bytes on, so a call goes to its provider in the dialect in which it came.
 */

/**
 * `openai`: Chat Completions. `responses`: OpenAI's Responses. `embeddings`: OpenAI's Embeddings. `anthropic`: Messages,
 * with `count_tokens`. `gemini`: `generateContent` and `streamGenerateContent`.
 */
export const DIALECTS = ['openai', 'responses', 'embeddings', 'anthropic', 'gemini'] as const;
export type Dialect = (typeof DIALECTS)[number];

/** Whose manners a dialect has: the shape of its errors, where its clients put a key. */
export type Family = 'openai' | 'anthropic' | 'gemini';

export const FAMILIES: Readonly<Record<Dialect, Family>> = {
  openai: 'openai',
  responses: 'openai',
  embeddings: 'openai',
  anthropic: 'anthropic',
  gemini: 'gemini',
};
