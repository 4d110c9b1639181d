/** Tools of the conformance server that ask for nothing: their names and answers are what the suite looks for. */
import { AUDIO, IMAGE } from './media.ts';
import { schemaWithEverything } from './schemas.ts';
import type { ToolTable } from './tool.ts';

const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });
const image = { type: 'image' as const, data: IMAGE, mimeType: 'image/png' };

export const PLAIN_TOOLS: ToolTable = {
  test_simple_text: {
    description: 'Says one line of text',
    run: async () => text('This is a simple text response for testing.'),
  },
  test_image_content: { description: 'Shows an image', run: async () => ({ content: [image] }) },
  test_audio_content: {
    description: 'Plays a sound',
    run: async () => ({ content: [{ type: 'audio', data: AUDIO, mimeType: 'audio/wav' }] }),
  },
  test_embedded_resource: {
    description: 'Gives a resource with its answer',
    run: async () => ({
      content: [
        {
          type: 'resource',
          resource: {
            uri: 'test://embedded-resource',
            mimeType: 'text/plain',
            text: 'An embedded resource.',
          },
        },
      ],
    }),
  },
  test_multiple_content_types: {
    description: 'Answers with text, an image and a resource',
    run: async () => ({
      content: [
        { type: 'text', text: 'Multiple content types test:' },
        image,
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ],
    }),
  },
  test_error_handling: {
    description: 'Fails',
    run: async () => ({ ...text('This tool intentionally returns an error for testing'), isError: true }),
  },
  test_tool_with_logging: {
    description: 'Logs three lines before it answers',
    run: async (_args, { mcpReq }) => {
      for (const said of ['Tool execution started', 'Tool processing data', 'Tool execution completed'])
        await mcpReq.log('info', said);
      return text('logged');
    },
  },
  test_logging_tool: {
    description: 'Logs a line to those who asked for a level',
    run: async (_args, { mcpReq }) => {
      await mcpReq.log('info', 'it ran');
      return text('logged');
    },
  },
  test_tool_with_progress: {
    description: 'Tells how far it is',
    run: async (_args, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (const progress of progressToken === undefined ? [] : [0, 50, 100]) {
        const params = { progressToken: progressToken ?? '', progress, total: 100 };
        await mcpReq.notify({ method: 'notifications/progress', params });
      }
      return text('done');
    },
  },
  test_streaming_elicitation: {
    description: 'Answers and asks for nothing',
    run: async () => text('nothing was asked'),
  },
  test_reconnection: {
    description: 'Leaves its stream before it answers, as servers do that are polled',
    run: async (_args, { http }) => {
      http?.closeSSE?.();
      return text('found again');
    },
  },
  test_x_mcp_header: {
    description: 'Has an argument that also stands in a header',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } },
    },
    run: async ({ region }) => text(`region=${String(region ?? 'none')}`),
  },
  json_schema_2020_12_tool: {
    description: 'Has a schema with all that JSON Schema 2020-12 knows',
    inputSchema: schemaWithEverything,
    run: async (args) => text(JSON.stringify(args)),
  },
  test_trigger_tool_change: {
    description: 'Says that the tools changed',
    run: async (_args, _context, { changes }) => {
      changes.tools();
      return text('said');
    },
  },
  test_trigger_prompt_change: {
    description: 'Says that the prompts changed',
    run: async (_args, _context, { changes }) => {
      changes.prompts();
      return text('said');
    },
  },
};
