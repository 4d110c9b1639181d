/** Tells the hostile kit's runner for CONNECT what our tokens are: a run of its cases is an environment of ours. */
import { type HookStage, makeTokens, readFacts, type TokenFacts } from './hook-tokens.ts';
import type { KitEnvironment } from './product.ts';
import { supersedePod } from './supersede.ts';

/** What hostile-connect.ts leaves for the hook. */
export interface ConnectFacts extends TokenFacts {
  readonly databaseUrl: string;
  /** By the kit's name of a run. */
  readonly environments: Readonly<Record<string, KitEnvironment>>;
}

// biome-ignore lint/style/noDefaultExport: this is how the kit takes a hook
export default function makeHook(stage: HookStage) {
  const facts = readFacts<ConnectFacts>(stage);
  const environmentOf = (session: string): KitEnvironment => {
    const environment = facts.environments[session];
    if (!environment) throw new Error(`no environment plays ${session}`);
    return environment;
  };
  return {
    ...makeTokens(facts, stage),
    revoke: (session: string) => supersedePod(facts.databaseUrl, environmentOf(session).id),
  };
}
