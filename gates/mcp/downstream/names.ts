/** Names of the protocol that both eras' serving needs. Nothing is decided here. */
export const MODERN_VERSION = '2026-07-28';
/** Newest first. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
/** From which on a client takes a stream up again that broke. */
export const RESUMES_IN = '2025-11-25';

export const META = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  progressToken: 'progressToken',
} as const;

/** RFC 5424, from the least severe. */
export const LOG_LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

/** The notifications that come by themselves, and by which field of a filter they are asked for. */
export const CHANGES = {
  'notifications/tools/list_changed': { flag: 'toolsListChanged', capability: 'tools' },
  'notifications/prompts/list_changed': { flag: 'promptsListChanged', capability: 'prompts' },
  'notifications/resources/list_changed': { flag: 'resourcesListChanged', capability: 'resources' },
} as const;
export const RESOURCE_UPDATED = 'notifications/resources/updated';
export const PROGRESS = 'notifications/progress';
export const LOG_MESSAGE = 'notifications/message';
export const CANCELLED = 'notifications/cancelled';
