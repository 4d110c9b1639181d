/**
 * Tasks of the conformance server (SEP-2663): calls that are answered at once with a name, and asked for by it later.
 * They live as long as the server. Its SDK knows no tasks, so their methods are ones of our own to it.
 */
import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  type ClientCapabilities,
  fromJsonSchema,
  type InputRequests,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';

export const TASKS = 'io.modelcontextprotocol/tasks';

/** What the work of a task is given. */
export interface TaskWork {
  /** Aborted when it is cancelled. */
  readonly signal: AbortSignal;
  /** Resolves when every question has been answered. */
  ask(questions: InputRequests): Promise<Answers>;
}

type Answers = Readonly<Record<string, unknown>>;
type Ending =
  | { readonly status: 'completed'; readonly result: CallToolResult }
  | { readonly status: 'failed'; readonly error: { readonly code: number; readonly message: string } }
  | { readonly status: 'cancelled' };

class Task {
  readonly #id = randomUUID();
  readonly #created = new Date();
  readonly #cancel = new AbortController();
  #ending: Ending | null = null;
  #waiting: InputRequests = {};
  #answers: Record<string, unknown> = {};
  #answered = Promise.withResolvers<Answers>();

  get id(): string {
    return this.#id;
  }

  async run(work: (task: TaskWork) => Promise<CallToolResult>): Promise<void> {
    const ask = (questions: InputRequests): Promise<Answers> => {
      this.#waiting = { ...questions };
      this.#answered = Promise.withResolvers();
      return this.#answered.promise;
    };
    try {
      this.#end({ status: 'completed', result: await work({ signal: this.#cancel.signal, ask }) });
    } catch (error) {
      const { message } = error as Error;
      this.#end({ status: 'failed', error: { code: ProtocolErrorCode.InternalError, message } });
    }
  }

  /** What is asked no more is not heard. */
  answer(answers: Answers): void {
    for (const [key, value] of Object.entries(answers)) {
      if (!Object.hasOwn(this.#waiting, key)) continue;
      const { [key]: _answered, ...rest } = this.#waiting;
      this.#waiting = rest;
      this.#answers[key] = value;
    }
    if (Object.keys(this.#waiting).length === 0) this.#answered.resolve(this.#answers);
  }

  cancel(): void {
    this.#end({ status: 'cancelled' });
    this.#cancel.abort();
  }

  /** As `tasks/get` shows it. */
  view(): Record<string, unknown> {
    const asking = Object.keys(this.#waiting).length > 0;
    const running = asking
      ? { status: 'input_required', inputRequests: this.#waiting }
      : { status: 'working' };
    return {
      taskId: this.#id,
      createdAt: this.#created.toISOString(),
      lastUpdatedAt: new Date().toISOString(),
      ttlMs: 600_000,
      pollIntervalMs: 100,
      ...(this.#ending ?? running),
    };
  }

  /** The first ending stands. */
  #end(ending: Ending): void {
    this.#ending ??= ending;
    this.#waiting = {};
  }
}

const tasks = new Map<string, Task>();

/** The answer to a call that has become a task: a client that knows no tasks cannot have it. */
export function becomeTask(
  capabilities: ClientCapabilities,
  work: (task: TaskWork) => Promise<CallToolResult>,
): CallToolResult {
  requireTasks(capabilities);
  const task = new Task();
  tasks.set(task.id, task);
  const { inputRequests: _later, ...created } = task.view();
  void task.run(work);
  // Its SDK has no type for it, and passes it on.
  return { ...created, resultType: 'task' } as unknown as CallToolResult;
}

export function knowsTasks({ extensions }: ClientCapabilities): boolean {
  return extensions?.[TASKS] !== undefined;
}

export function serveTasks(server: Server): void {
  const on = (method: string, act: (task: Task, context: ServerContext) => Record<string, unknown>): void =>
    server.setRequestHandler(method, { params: PARAMS }, async (params, context) => {
      requireTasks(server.getClientCapabilities() ?? {});
      requireName(params.taskId, context);
      const task = tasks.get(params.taskId);
      if (!task) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Unknown task');
      return act(task, context);
    });
  on('tasks/get', (task) => task.view());
  on('tasks/update', (task, { mcpReq }) => {
    task.answer(mcpReq.inputResponses ?? {});
    return {};
  });
  on('tasks/cancel', (task) => {
    task.cancel();
    return {};
  });
}

function requireTasks(capabilities: ClientCapabilities): void {
  if (knowsTasks(capabilities)) return;
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS]: {} } } });
}

/** The head has to say the same as the body (SEP-2243). */
function requireName(taskId: string, { http }: ServerContext): void {
  const said = http?.req?.headers.get('mcp-name');
  if (said === undefined || said === null || said === taskId) return;
  throw new ProtocolError(HEADER_MISMATCH, 'Mcp-Name is not params.taskId');
}

const PARAMS = fromJsonSchema<{ readonly taskId: string }>({
  type: 'object',
  required: ['taskId'],
  properties: { taskId: { type: 'string' } },
});
const HEADER_MISMATCH = -32_020;
