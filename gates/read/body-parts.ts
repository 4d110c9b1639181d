/**
 * Where in a body, below its own fields, something counts: fields that name a further model, what has a model of its
 * own without naming it, and texts that hold an image, a sound or a document in base64. What is not named here is text, whatever it looks like: the arguments of a
 * tool are the caller's own, and a model reads them as they are.
 */
import type { Dialect } from '../../core-lite/state/dialect.ts';

/** Objects at one place; those in a list are at the same. */
export interface BodyPart {
  /** Fields that name a further model: by their folded name, without underscores. */
  readonly models?: RegExp;
  /** It may be the schema of a tool's arguments, in which an object says what an argument is. */
  readonly schema?: true;
  /** Texts that name what calls a further model of its own, by their name, in lower case. */
  readonly callers?: Readonly<Record<string, RegExp>>;
  /** Texts that may hold media, by their name. */
  readonly media?: Readonly<Record<string, MediaForm>>;
  readonly inside?: Readonly<Record<string, BodyPart>>;
  /** What `inside` does not name. */
  readonly others?: BodyPart;
}

/**
 * What says that a text holds media. `url`: the type in its own `data:` prefix; `typed`: the media type beside it;
 * `audio`: its place alone; `result`: that its item is an image that was made.
 */
export type MediaForm = 'url' | 'typed' | 'audio' | 'result';

const MODELS = /models?(?:names?|lists?)?$/;
/** The body's own: OpenRouter, Anthropic and LiteLLM call what these name when the model fails, or as they see fit. */
const FURTHER = /(?:models?(?:names?|lists?)?|fallbacks?(?:dict)?|^(?:route|preset|userconfig))$/;
const NAMED: BodyPart = { models: MODELS };
/** Objects at any place below, so deep. */
const NAMED_BELOW: BodyPart = below(5);
const URL_TEXT: BodyPart = { media: { url: 'url' } };
const AUDIO: BodyPart = { media: { data: 'audio' } };

/** Anthropic's advisor, OpenAI's image generation, and of what a router runs itself all that is not known to call none. */
const TOOL_TYPE =
  /^(?:advisor|image_?gen|[\w-]+:(?!(?:web_search|web_fetch|datetime|shell|bash|apply_patch)$))/;
const ONE_TOOL: BodyPart = {
  models: MODELS,
  callers: { type: TOOL_TYPE },
  inside: {
    parameters: {
      models: MODELS,
      schema: true,
      inside: { advisors: NAMED, subagents: NAMED, instances: NAMED },
    },
    input_image_mask: { media: { image_url: 'url' } },
    // Google's.
    fileSearch: NAMED,
    file_search: NAMED,
    retrieval: NAMED_BELOW,
  },
};
/** A namespace has tools of its own. */
const TOOL: BodyPart = { ...ONE_TOOL, inside: { ...ONE_TOOL.inside, tools: ONE_TOOL } };
const PLUGIN: BodyPart = { ...TOOL, callers: { id: /^fusion/ } };
/** Azure's own data is found by an embedding. */
const DATA_SOURCE: BodyPart = { inside: { parameters: { models: /^embeddingdependency$/ } } };

/** What Chat Completions, Responses and Messages have in common, here and at those who route between models. */
const OWN_ROUTES: Readonly<Record<string, BodyPart>> = {
  tools: TOOL,
  plugins: PLUGIN,
  moderation: NAMED,
  guardrails: NAMED_BELOW,
  compound_custom: { inside: { models: NAMED } },
  data_sources: DATA_SOURCE,
  dataSources: DATA_SOURCE,
};
/** What LiteLLM and Vercel's gateway take into the body, or before it. */
const GATEWAYS: Readonly<Record<string, BodyPart>> = {
  extra_body: { models: FURTHER, inside: OWN_ROUTES },
  router_settings_override: { models: FURTHER },
  providerOptions: { inside: { gateway: { models: FURTHER } } },
  provider_options: { inside: { gateway: { models: FURTHER } } },
};
const ROUTES: Readonly<Record<string, BodyPart>> = { ...OWN_ROUTES, ...GATEWAYS };

const CHAT_BLOCK: BodyPart = {
  media: { image_url: 'url', document_url: 'url' },
  inside: {
    image_url: URL_TEXT,
    video_url: URL_TEXT,
    audio_url: URL_TEXT,
    input_audio: AUDIO,
    file: { media: { file_data: 'url' } },
  },
};
const RESPONSES_BLOCK: BodyPart = {
  media: { image_url: 'url', file_data: 'url' },
  inside: { input_audio: AUDIO },
};
const TYPED: BodyPart = { media: { data: 'typed' } };
const DOCUMENT_SOURCE: BodyPart = { ...TYPED, inside: { content: { inside: { source: TYPED } } } };
const MESSAGE_BLOCK: BodyPart = {
  inside: {
    source: DOCUMENT_SOURCE,
    // Of a tool's result.
    content: { inside: { source: DOCUMENT_SOURCE } },
    // A tool may be added in the middle of a conversation.
    tool: { inside: { definition: TOOL } },
  },
};
/** Google's JSON takes each name in both spellings. */
const PLAIN_PART: BodyPart = { inside: { inlineData: TYPED, inline_data: TYPED } };
const RESPONSE_PARTS: BodyPart = { inside: { parts: PLAIN_PART } };
const GEMINI_CONTENT: BodyPart = {
  inside: {
    parts: {
      inside: {
        ...PLAIN_PART.inside,
        functionResponse: RESPONSE_PARTS,
        function_response: RESPONSE_PARTS,
      },
    },
  },
};
const GEMINI_ROUTES: BodyPart = { models: /^(?:routing|model|modelselection)config$/ };

export const BODY_PARTS: Readonly<Record<Dialect, BodyPart>> = {
  openai: { models: FURTHER, inside: { ...ROUTES, messages: { inside: { content: CHAT_BLOCK } } } },
  responses: {
    models: FURTHER,
    inside: {
      ...ROUTES,
      input: {
        media: { result: 'result' },
        inside: { content: RESPONSES_BLOCK, output: RESPONSES_BLOCK, tools: TOOL },
      },
    },
  },
  embeddings: { models: FURTHER, inside: GATEWAYS },
  anthropic: { models: FURTHER, inside: { ...ROUTES, messages: { inside: { content: MESSAGE_BLOCK } } } },
  gemini: {
    models: FURTHER,
    inside: {
      ...GATEWAYS,
      tools: TOOL,
      contents: GEMINI_CONTENT,
      systemInstruction: GEMINI_CONTENT,
      system_instruction: GEMINI_CONTENT,
      generationConfig: GEMINI_ROUTES,
      generation_config: GEMINI_ROUTES,
    },
  },
};

function below(levels: number): BodyPart {
  return { ...NAMED, ...(levels > 1 ? { others: below(levels - 1) } : {}) };
}
