/**
 * Tools of the conformance server that ask the client before they answer. Each is written once: it says what it still
 * needs, and the SDK carries that in either era's manner.
 */
import {
  type ClientCapabilities,
  type InputRequest,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server';
import { form, formWithChoices, formWithDefaults } from './schemas.ts';
import type { ConformanceTool, ToolTable } from './tool.ts';

type Questions = Readonly<Record<string, InputRequest>>;

const elicit = (message: string, requestedSchema = form({ name: { type: 'string' } })): InputRequest =>
  inputRequired.elicit({ message, requestedSchema });
const sample = (said: string, maxTokens = 100): InputRequest =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: said } }],
    maxTokens,
  });
const confirm: Questions = { confirm: elicit('Please confirm', form({ ok: { type: 'boolean' } })) };

export const ASKING_TOOLS: ToolTable = {
  test_sampling: {
    ...asks('Asks the client’s model', ({ prompt }) => ({ answer: sample(String(prompt)) })),
    inputSchema: form({ prompt: { type: 'string' } }),
  },
  test_elicitation: {
    ...asks('Asks the user', ({ message }) => ({
      user: elicit(String(message), form({ username: { type: 'string' }, email: { type: 'string' } })),
    })),
    inputSchema: form({ message: { type: 'string' } }),
  },
  test_elicitation_sep1034_defaults: asks('Asks with defaults', () => ({
    form: elicit('Please review', formWithDefaults),
  })),
  test_elicitation_sep1330_enums: asks('Asks with choices', () => ({
    form: elicit('Please choose', formWithChoices),
  })),
  test_missing_capability: asks('Needs a client that has a model', () => ({
    answer: sample('Say pong', 16),
  })),
  test_input_required_result_elicitation: asks('Asks for a name', () => ({
    user_name: elicit('What is your name?'),
  })),
  test_input_required_result_sampling: asks('Asks for a capital', () => ({
    capital_question: sample('What is the capital of France?'),
  })),
  test_input_required_result_list_roots: asks('Asks for the roots', () => ({
    client_roots: inputRequired.listRoots(),
  })),
  test_input_required_result_request_state: asks('Asks, with state', () => confirm, true),
  test_input_required_result_tampered_state: asks('Asks, with state that it signed', () => confirm, true),
  test_input_required_result_multiple_inputs: asks(
    'Asks three things at once',
    () => ({
      user_name: elicit('What is your name?'),
      greeting: sample('Generate a greeting', 50),
      client_roots: inputRequired.listRoots(),
    }),
    true,
  ),
  test_input_required_result_capabilities: asks(
    'Asks what the client can answer',
    (_args, { elicitation, sampling }) => {
      return {
        ...(elicitation ? { user_name: elicit('What is your name?') } : {}),
        ...(sampling ? { greeting: sample('Generate a greeting', 50) } : {}),
      };
    },
  ),
  test_input_required_result_multi_round: {
    description: 'Asks twice, one after the other',
    run: async (_args, { mcpReq }, { mint }) => {
      const round = mcpReq.requestState<{ round: number }>()?.round ?? 0;
      const question = ROUNDS[round];
      if (!question) return { content: [{ type: 'text', text: 'both were answered' }] };
      return inputRequired({ inputRequests: question, requestState: await mint({ round: round + 1 }) });
    },
  },
};

const ROUNDS: readonly Questions[] = [
  { step1: elicit('Step 1: What is your name?') },
  { step2: elicit('Step 2: What is your favorite color?', form({ color: { type: 'string' } })) },
];

/** Asks until every question has an answer of its kind, which may be a refusal. */
function asks(
  description: string,
  ask: (args: Readonly<Record<string, unknown>>, capabilities: ClientCapabilities) => Questions,
  withState = false,
): ConformanceTool {
  return {
    description,
    run: async (args, context, { capabilities, mint }) => {
      const questions = ask(args, capabilities);
      const answers = Object.keys(questions).map((key) => inputResponse(context.mcpReq.inputResponses, key));
      if (answers.every(({ kind }) => kind !== 'missing'))
        return { content: [{ type: 'text', text: `state-ok: ${JSON.stringify(answers)}` }] };
      return inputRequired({
        inputRequests: questions,
        ...(withState ? { requestState: await mint({ asked: Object.keys(questions) }) } : {}),
      });
    },
  };
}
