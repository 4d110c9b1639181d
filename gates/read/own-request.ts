/** What every route of tools reads of its request, beside what is its own. */
import type { FastifyRequest } from 'fastify';
import { headerValue } from '../act/headers.ts';

/** A web page can send other types than JSON without asking first. */
export function judgeMedia(request: FastifyRequest): 'media_type_refused' | 'encoding_refused' | null {
  const raw = request.raw.rawHeaders;
  if (!JSON_TYPE.test(headerValue(raw, 'content-type'))) return 'media_type_refused';
  return headerValue(raw, 'content-encoding') === '' ? null : 'encoding_refused';
}

export function bodyOf(request: FastifyRequest): Buffer {
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

export function origin(request: FastifyRequest): { source: string; userAgent: string } {
  return { source: request.ip, userAgent: request.headers['user-agent'] ?? '' };
}

const JSON_TYPE = /^application\/json(?:\s*;\s*charset="?utf-8"?)?$/;
