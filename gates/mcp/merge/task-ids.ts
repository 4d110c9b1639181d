/** Tasks of many servers: an id is told apart by the name of its server before it. */
import { isJsonObject, type JsonObject } from '../messages.ts';

/** @returns what was said with its task's id made the merged one */
export function markTask(server: string, said: JsonObject): JsonObject {
  const { taskId, task } = said;
  const marked = typeof taskId === 'string' ? { ...said, taskId: `${server}:${taskId}` } : said;
  return isJsonObject(task) && typeof task['taskId'] === 'string'
    ? { ...marked, task: markTask(server, task) }
    : marked;
}

export function readTaskId(merged: unknown): { readonly server: string; readonly taskId: string } | null {
  if (typeof merged !== 'string') return null;
  const mark = merged.indexOf(':');
  return mark < 0 ? null : { server: merged.slice(0, mark), taskId: merged.slice(mark + 1) };
}
