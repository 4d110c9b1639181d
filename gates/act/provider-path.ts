/** Joins a model's base URL, its provider's path and the caller's query to what is asked for at the provider. */

import type { UpstreamUrl } from '../../core-lite/network/upstream-url.ts';
import type { Service } from '../../core-lite/providers/provider.ts';

export interface PathParts {
  /** The provider's name for the model. */
  readonly model: string;
  /** What stands behind the service's path: `/count_tokens`, `:generateContent`; empty for the service itself. */
  readonly operation: string;
  /** The caller's, with its `?`; empty where there is none. */
  readonly query: string;
}

/**
 * A base URL whose path has a version (`/v1`, `/v1beta/openai`) or names a deployment is complete: it takes the place
 * of the service's path up to and with its own version.
 */
export function providerPath(
  url: UpstreamUrl,
  service: Service,
  { model, operation, query }: PathParts,
): string {
  const path = remainingPath(url.path, service.path).replace(
    '{model}',
    model.split('/').map(encodeURIComponent).join('/'),
  );
  return `${url.path}${path}${operation}${joinQuery(url.query, query)}`;
}

/** What of the service's path the base URL does not have yet: `/v1beta/openai` may be all of what stands before the rest. */
function remainingPath(base: string, service: string): string {
  if (!COMPLETE.test(base)) return service;
  const rest = service.replace(UP_TO_VERSION, '');
  const behindVersion = base.replace(UP_TO_LAST_VERSION, '');
  return behindVersion !== '' && rest.startsWith(`${behindVersion}/`)
    ? rest.slice(behindVersion.length)
    : rest;
}

/** The operator's parameters stand alone: of two, a provider might take the caller's. */
function joinQuery(own: string, callers: string): string {
  if (own === '') return callers;
  const names = new Set(own.slice(1).split('&').map(parameterName));
  const others = callers
    .slice(1)
    .split('&')
    .filter((text) => text !== '' && !names.has(parameterName(text)));
  return [own, ...others].join('&');
}

function parameterName(text: string): string {
  const name = text.split('=', 1)[0] ?? '';
  try {
    return decodeURIComponent(name.replaceAll('+', ' ')).toLowerCase();
  } catch {
    return name.toLowerCase();
  }
}

const COMPLETE = /\/(?:v\d+[a-z0-9]*|deployments\/[^/]+)(?:\/|$)/;
const UP_TO_VERSION = /^.*?\/v\d+[a-z0-9]*(?=\/)/;
const UP_TO_LAST_VERSION = /^.*\/v\d+[a-z0-9]*(?=\/|$)/;
