/** Bodies that name a further model than the one that was decided: none of them is read, whatever provider would take it. */
import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../gates/dialects/operations.ts';
import { readModelBody } from '../../../gates/read/model-call.ts';

type Operation = (typeof OPERATIONS)[keyof typeof OPERATIONS];
const { chat, respond, embed, message, countMessage, generate, streamGenerate } = OPERATIONS;

const read = (operation: Operation, fields: string) => {
  const gemini = operation.dialect === 'gemini';
  return readModelBody(
    Buffer.from(`{${gemini ? '' : '"model":"m",'}${fields}}`),
    operation,
    gemini ? 'g' : null,
  );
};

const EVERYWHERE: readonly (readonly [fields: string, path: string])[] = [
  ['"models":["x"]', 'models'],
  ['"models" : "x"', 'models'],
  ['"mod\\u0065ls":["x"]', 'models'],
  ['"Models":["x"]', 'Models'],
  ['"model\\u017f":["x"]', '(a field)'],
  ['"models":null,"models":["x"]', 'models'],
  ['"fallbacks":[{"model":"x"}]', 'fallbacks'],
  ['"fallbacks":"default"', 'fallbacks'],
  ['"context_window_fallbacks":[{"m":["x"]}]', 'context_window_fallbacks'],
  ['"fallback_models":["x"]', 'fallback_models'],
  ['"fallbackModel":"x"', 'fallbackModel'],
  ['"route":"fallback"', 'route'],
  ['"preset":"dear"', 'preset'],
  ['"fallback":{"model":"x"}', 'fallback'],
  ['"context_window_fallback_dict":{"m":"x"}', 'context_window_fallback_dict'],
  ['"model_list":[{"model_name":"m"}]', 'model_list'],
  ['"user_config":{"model_list":[]}', 'user_config'],
  ['"extra_body":{"model":"x"}', 'extra_body.model'],
  ['"extra_body":{"fallbacks":["x"]}', 'extra_body.fallbacks'],
  ['"router_settings_override":{"fallbacks":[{"m":["x"]}]}', 'router_settings_override.fallbacks'],
  ['"providerOptions":{"gateway":{"models":["x"]}}', 'providerOptions.gateway.models'],
];
const TOOLS: readonly (readonly [fields: string, path: string])[] = [
  ['"tools":[{"model":"x","type":"advisor_20260301","name":"advisor"}]', 'tools.model'],
  ['"tools":[{"model":"x","type":"image_generation"}]', 'tools.model'],
  ['"tools":[{"name":"a"},{"m\\u006fdel":"x"}]', 'tools.model'],
  ['"Tools":[{"Model":"x"}]', 'tools.Model'],
  ['"tools":[],"tools":[{"model":"x"}]', 'tools.model'],
  ['"tools":{"model":"x"}', 'tools.model'],
  [
    '"tools":[{"parameters":{"advisors":[{"model":"x"}]},"type":"openrouter:advisor"}]',
    'tools.parameters.advisors.model',
  ],
  ['"tools":[{"parameters":{"model":"x"},"type":"openrouter:fusion"}]', 'tools.parameters.model'],
  [
    '"tools":[{"parameters":{"analysis_models":["x"]},"type":"openrouter:fusion"}]',
    'tools.parameters.analysis_models',
  ],
  [
    '"tools":[{"parameters":{"subagents":[{"model":"x"}]},"type":"openrouter:subagent"}]',
    'tools.parameters.subagents.model',
  ],
];
/** A model of its own is called by what names none. */
const CALLERS: readonly (readonly [fields: string, path: string])[] = [
  ['"tools":[{"type":"openrouter:fusion"}]', 'tools.type'],
  ['"tools":[{"type":"openrouter:advisor"}]', 'tools.type'],
  ['"tools":[{"type":"openrouter:subagent"}]', 'tools.type'],
  ['"tools":[{"type":"openrouter:image_generation"}]', 'tools.type'],
  ['"tools":[{"type":"openrouter:of-tomorrow"}]', 'tools.type'],
  ['"tools":[{"type":"OpenRouter\\u003afusion"}]', 'tools.type'],
  ['"tools":[{"Type":"openrouter:fusion"}]', 'tools.Type'],
  ['"tools":[{"type":"function","type":"openrouter:fusion"}]', 'tools.type'],
  ['"tools":[{"type":"image_generation","quality":"high"}]', 'tools.type'],
  ['"tools":[{"type":"advisor_20260301","name":"advisor"}]', 'tools.type'],
  ['"tools":[{"type":"namespace","tools":[{"type":"image_generation"}]}]', 'tools.tools.type'],
];
const ROUTED: readonly (readonly [fields: string, path: string])[] = [
  ...TOOLS,
  ...CALLERS,
  ['"plugins":[{"id":"web"},{"model":"x","id":"fusion"}]', 'plugins.model'],
  ['"plugins":[{"id":"web"},{"id":"fusion"}]', 'plugins.id'],
  ['"guardrails":[{"moderation_llm_v1":{"model_name":"x"}}]', 'guardrails.moderation_llm_v1.model_name'],
  [
    '"data_sources":[{"parameters":{"embedding_dependency":{"deployment_name":"x"}}}]',
    'data_sources.parameters.embedding_dependency',
  ],
  ['"extra_body":{"plugins":[{"id":"fusion"}]}', 'extra_body.plugins.id'],
  ['"plugins":[{"id":"auto-router","allowed_models":["x"]}]', 'plugins.allowed_models'],
  ['"moderation":{"model":"x"}', 'moderation.model'],
  ['"compound_custom":{"models":{"reasoning_model":"x"}}', 'compound_custom.models.reasoning_model'],
];
const CASES: readonly (readonly [Operation, readonly (readonly [fields: string, path: string])[]])[] = [
  ...[chat, respond, embed, message, countMessage, generate, streamGenerate].map(
    (operation) => [operation, EVERYWHERE] as const,
  ),
  ...[chat, respond, message, countMessage].map((operation) => [operation, ROUTED] as const),
  [
    message,
    [
      [
        '"messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"model":"x","type":"advisor_20260301"}}}]}]',
        'messages.content.tool.definition.model',
      ],
    ],
  ],
  [
    respond,
    [
      [
        '"input":[{"type":"tool_search_output","tools":[{"model":"x","type":"image_generation"}]}]',
        'input.tools.model',
      ],
    ],
  ],
  [
    generate,
    [
      ...TOOLS,
      ['"tools":[{"google_search":{}},{"fileSearch":{"model":"x"}}]', 'tools.fileSearch.model'],
      [
        '"tools":[{"retrieval":{"vertexRagStore":{"ragRetrievalConfig":{"ranking":{"llmRanker":{"modelName":"x"}}}}}}]',
        'tools.retrieval.vertexRagStore.ragRetrievalConfig.ranking.llmRanker.modelName',
      ],
      ['"model":"models/x"', 'model'],
      ['"model":"G"', 'model'],
      ['"model":{"a":1}', 'model'],
      [
        '"generationConfig":{"routingConfig":{"manualMode":{"modelName":"x"}}}',
        'generationConfig.routingConfig',
      ],
      ['"generation_config":{"routing_config":{}, "model_config":{"a":1}}', 'generation_config.model_config'],
      ['"generationConfig":{"modelSelectionConfig":{"a":1}}', 'generationConfig.modelSelectionConfig'],
    ],
  ],
];

describe('a body that names a further model is refused, and told where', () => {
  for (const [operation, cases] of CASES)
    for (const [fields, path] of cases)
      it(`${operation.dialect}${operation.suffix}: ${fields.slice(0, 90)}`, () =>
        expect(read(operation, fields)).toEqual({ refusal: 'further_model', detail: { text: path } }));
});

const NONE = [
  '"models":null,"fallbacks":[],"route":"","plugins":[{"id":"web","max_results":3}]',
  '"models":[ ],"fallbacks":null,"moderation":null,"tools":null',
  '"metadata":{"model":"x","models":["x"]},"user":"model"',
  '"tools":[{"type":"function","function":{"name":"model","parameters":{"properties":{"model":{"type":"string"}}}}}]',
  '"tools":[{"type":"function","name":"f","parameters":{"model":{"type":"string"},"properties":{"models":{}}}}]',
  '"tools":[{"name":"f","input_schema":{"properties":{"model":{"type":"string"}},"model":"x"}}]',
  '"tools":[{"type":"openrouter:web_search"},{"type":"web_search_20250305","name":"web_search"},{"type":"web_search"}]',
  '"tools":[{"type":"function","function":{"name":"image_generation","type":"openrouter:fusion"}},{"type":"custom"}]',
  '"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"type":{"const":"image_generation"}}}}]',
  '"extra_body":{"top_k":3},"providerOptions":{"openai":{"user":"model"}},"guardrails":[{"block":true}],"preset":null',
  '"tool_choice":{"type":"image_generation"},"data_sources":[{"type":"azure_search","parameters":{"index_name":"x"}}]',
  '"tools":[{"name":"f","model":null}],"tool_choice":{"model":"x"}',
  '"messages":[{"role":"user","content":"\\"models\\":[\\"x\\"]","model":"x"},{"content":[{"model":"x","tool":{"name":"a"}}]}]',
  '"messages":[{"content":[{"type":"tool_use","input":{"model":"x","tools":[{"model":"x"}],"fallbacks":["x"]}}]}]',
  '"input":[{"type":"function_call","arguments":"{\\"model\\":\\"x\\"}"},{"model":"x","content":[{"model":"x"}]}]',
  '"contents":[{"parts":[{"functionCall":{"args":{"model":"x","models":["x"]}}}]}]',
];

describe('a body that only speaks of models is read', () => {
  for (const fields of NONE)
    it(fields.slice(0, 100), () => {
      for (const operation of [chat, respond, message, generate])
        expect(read(operation, fields)).not.toHaveProperty('refusal');
    });
});
