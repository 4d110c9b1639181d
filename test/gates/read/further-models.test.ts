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
];
const TOOLS: readonly (readonly [fields: string, path: string])[] = [
  ['"tools":[{"type":"advisor_20260301","name":"advisor","model":"x"}]', 'tools.model'],
  ['"tools":[{"type":"image_generation","model":"x"}]', 'tools.model'],
  ['"tools":[{"name":"a"},{"m\\u006fdel":"x"}]', 'tools.model'],
  ['"Tools":[{"Model":"x"}]', 'tools.Model'],
  ['"tools":[],"tools":[{"model":"x"}]', 'tools.model'],
  ['"tools":{"model":"x"}', 'tools.model'],
  [
    '"tools":[{"type":"openrouter:advisor","parameters":{"advisors":[{"model":"x"}]}}]',
    'tools.parameters.advisors.model',
  ],
  ['"tools":[{"type":"openrouter:fusion","parameters":{"model":"x"}}]', 'tools.parameters.model'],
  [
    '"tools":[{"type":"openrouter:fusion","parameters":{"analysis_models":["x"]}}]',
    'tools.parameters.analysis_models',
  ],
];
const ROUTED: readonly (readonly [fields: string, path: string])[] = [
  ...TOOLS,
  ['"plugins":[{"id":"web"},{"id":"fusion","model":"x"}]', 'plugins.model'],
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
        '"messages":[{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"advisor_20260301","model":"x"}}}]}]',
        'messages.content.tool.definition.model',
      ],
    ],
  ],
  [
    respond,
    [
      [
        '"input":[{"type":"tool_search_output","tools":[{"type":"image_generation","model":"x"}]}]',
        'input.tools.model',
      ],
    ],
  ],
  [
    generate,
    [
      ...TOOLS,
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
