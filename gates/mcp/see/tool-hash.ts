/** What of a tool's definition must not change under a session, as one hash: all that a model is told and decides by. */
import { createHash } from 'node:crypto';
import { writeCanonical } from '../../read/canonical-json.ts';
import type { JsonObject } from '../messages.ts';

/** @param tool of bounded depth */
export function hashTool(tool: JsonObject): Buffer {
  const told = TOLD.flatMap((field) => (tool[field] === undefined ? [] : [[field, tool[field]]]));
  return createHash('sha256')
    .update(writeCanonical(Object.fromEntries(told)))
    .digest();
}

const TOLD = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;
