/**
 * A session's manifest: which models, MCP servers and HTTP tools its runs may call. It is parsed once, when the session
 * opens, and pinned: what is not in it is not there for the session. Unknown fields are refused, since a misspelt one
 * would be a limit that is off.
 */
import { parseFields, parseTexts, withoutPrototype } from './fields.ts';
import { type HttpTool, type HttpToolRow, parseHttpTools, restoreHttpTools } from './http-tool.ts';
import { type McpServer, parseMcpServers } from './mcp-server.ts';

export interface Manifest {
  /** `null`: every model of the catalogue. */
  readonly models: readonly string[] | null;
  /** By name. Has no prototype, so that no name finds what nobody declared; so have the tools. */
  readonly mcpServers: Readonly<Record<string, McpServer>>;
  readonly httpTools: Readonly<Record<string, HttpTool>>;
}

/** @param input JSON. Throws Fault `input_invalid` with the first thing that is wrong and where it stands. */
export function parseManifest(input: unknown): Manifest {
  const { models, mcpServers, httpTools } = parseFields('manifest', input, [
    'models',
    'mcpServers',
    'httpTools',
  ]);
  return {
    models:
      models === undefined || models === null ? null : parseTexts('manifest.models', models, MODEL_NAMES),
    mcpServers: parseMcpServers('manifest.mcpServers', mcpServers ?? {}),
    httpTools: parseHttpTools('manifest.httpTools', httpTools ?? {}),
  };
}

/** The manifest of a row, which `parseManifest` made, of this version or of one that knew fewer fields. */
export function restoreManifest({ models, mcpServers = {}, httpTools }: ManifestRow): Manifest {
  return { models, mcpServers: withoutPrototype(mcpServers), httpTools: restoreHttpTools(httpTools) };
}

export interface ManifestRow {
  readonly models: Manifest['models'];
  readonly mcpServers?: Manifest['mcpServers'];
  readonly httpTools: Readonly<Record<string, HttpToolRow>>;
}

/** The credentials that its servers and tools name, each once. */
export function listCredentialNames({ mcpServers, httpTools }: Manifest): string[] {
  const servers = Object.values(mcpServers).flatMap(({ credential, via }) => [credential, via?.credential]);
  const tools = Object.values(httpTools).map(({ credential }) => credential);
  return [...new Set([...servers, ...tools].flatMap((name) => name ?? []))];
}

const MODEL_NAMES = {
  pattern: /^[A-Za-z0-9][\w.:@/-]{0,127}$/,
  is: 'a model’s name',
  are: 'names of models',
};
