/** Tools of the conformance server that become tasks. */
import { setTimeout as wait } from 'node:timers/promises';
import {
  type CallToolResult,
  type InputRequests,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server';
import { form } from './schemas.ts';
import { becomeTask, knowsTasks, type TaskWork } from './tasks.ts';
import type { ConformanceTool, ToolTable } from './tool.ts';

const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] });
const confirm = (message: string) =>
  inputRequired.elicit({ message, requestedSchema: form({ confirm: { type: 'boolean' } }) });

export const TASK_TOOLS: ToolTable = {
  greet: {
    description: 'Greets, and is never a task',
    inputSchema: { type: 'object', properties: { name: { type: 'string' } } },
    run: async ({ name }) => text(`Hello, ${String(name)}!`),
  },
  slow_compute: {
    description: 'Takes as many seconds as it is told to',
    inputSchema: { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } },
    run: async ({ seconds = 0 }, _context, { capabilities }) => {
      if (seconds === 0 || !knowsTasks(capabilities)) return text('computed');
      return becomeTask(capabilities, async ({ signal }) => {
        await wait(Number(seconds) * 1_000, undefined, { signal, ref: false });
        return text('computed');
      });
    },
  },
  failing_job: task('Fails as tools do', async () => ({ ...text('it failed'), isError: true })),
  protocol_error_job: task('Fails as no tool does', async () => {
    throw new Error('it broke');
  }),
  confirm_delete: asks('Asks before it goes on', { confirm: confirm('Delete it?') }),
  multi_input: asks('Asks two things at once', { one: confirm('The first?'), two: confirm('The second?') }),
  test_tool_with_task: {
    description: 'Asks first, and becomes a task then',
    run: async (_args, { mcpReq }, { capabilities }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'user_name');
      if (answer.kind === 'missing') return inputRequired({ inputRequests: { user_name: NAME } });
      return becomeTask(capabilities, async () => text(JSON.stringify(answer)));
    },
  },
};

const NAME = inputRequired.elicit({
  message: 'What is your name?',
  requestedSchema: form({ name: { type: 'string' } }),
});

function task(description: string, work: (task: TaskWork) => Promise<CallToolResult>): ConformanceTool {
  return { description, run: async (_args, _context, { capabilities }) => becomeTask(capabilities, work) };
}

function asks(description: string, questions: InputRequests): ConformanceTool {
  return {
    ...task(description, async ({ ask }) => text(JSON.stringify(await ask(questions)))),
    inputSchema: { type: 'object' },
  };
}
