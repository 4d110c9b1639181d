/** `initialize`: what a legacy client and the server behind the gate can do is told once, and the session's id keeps it. */
import { isJsonObject, type JsonObject, type RpcRequest } from '../messages.ts';
import type { McpPeer } from '../way.ts';
import type { Arrival, Downstream } from './context.ts';
import { LEGACY_VERSIONS } from './names.ts';
import { describeClient, type LegacySession, sealSession } from './session-id.ts';

export interface Initialized {
  readonly id: string;
  readonly result: JsonObject;
}

/** `null` where the client says more of itself than an id may hold. */
export function initialize(
  { seal }: Downstream,
  { token, server }: Arrival,
  { params = {} }: RpcRequest,
  { about }: McpPeer,
): Initialized | null {
  const { clientInfo, capabilities, protocolVersion } = params;
  const version = negotiate(protocolVersion);
  const id = sealSession(seal, {
    session: token.claims.sub,
    server,
    version,
    clientInfo: describeClient(clientInfo),
    clientCapabilities: isJsonObject(capabilities) ? capabilities : {},
  });
  if (id === null) return null;
  const { serverInfo, instructions } = about;
  const told = instructions === null ? {} : { instructions };
  return { id, result: { protocolVersion: version, capabilities: about.capabilities, serverInfo, ...told } };
}

/** What the client asks for where that is spoken here, else the newest. */
function negotiate(asked: unknown): LegacySession['version'] {
  return LEGACY_VERSIONS.find((version) => version === asked) ?? LEGACY_VERSIONS[0];
}
