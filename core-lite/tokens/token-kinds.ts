/**
 * Every kind of token by one table: its type, its audience, how long it lives and the shape of each claim. Minting and
 * verifying read this table and nothing else, so a claim that is minted is a claim that is checked.
 */
import { isId } from '../id.ts';

export type TokenKind = 'run' | 'service' | 'host' | 'egress';

interface ClaimRule {
  readonly required: boolean;
  readonly valid: (value: unknown) => boolean;
}

interface KindRule {
  readonly typ: string;
  readonly aud: string;
  readonly lifetimeS: number;
  readonly claims: Readonly<Record<string, ClaimRule>>;
}

/** Claims by kind, as they stand in the token. */
export interface RunClaims {
  readonly sub: string;
  readonly trn: string;
  readonly agt: string;
  readonly epc: number;
}
/** Of core's own call outside a run: one server, or one HTTP tool, of a session. */
export interface ServiceClaims {
  readonly sub: string;
  readonly agt: string;
  readonly srv?: string;
  readonly tol?: string;
  /** No run's. */
  readonly trn?: never;
  readonly epc?: never;
}
interface HostClaims {
  readonly sub: string;
  readonly hep: number;
  readonly pod: string;
}
export interface EgressClaims extends HostClaims {
  readonly ses?: string;
  readonly trn?: string;
}
export interface ClaimsOf {
  readonly run: RunClaims;
  readonly service: ServiceClaims;
  readonly host: HostClaims;
  readonly egress: EgressClaims;
}

const required = (valid: ClaimRule['valid']): ClaimRule => ({ required: true, valid });
const optional = (valid: ClaimRule['valid']): ClaimRule => ({ required: false, valid });
const isEpoch = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isName = (value: unknown): boolean => typeof value === 'string' && /^[\w.:@/-]{1,128}$/.test(value);
const id =
  (prefix: Parameters<typeof isId>[0]) =>
  (value: unknown): boolean =>
    isId(prefix, value);

/** The design's words for the claims stand in section 2 of its page; 15 minutes is its life of a token. */
export const TOKEN_KINDS: Readonly<Record<TokenKind, KindRule>> = {
  run: {
    typ: 'sallyport-run+jwt',
    aud: 'sallyport-gates',
    lifetimeS: 900,
    claims: {
      sub: required(id('ses')),
      trn: required(id('trn')),
      agt: required(isName),
      epc: required(isEpoch),
    },
  },
  service: {
    typ: 'sallyport-service+jwt',
    aud: 'sallyport-gates',
    lifetimeS: 60,
    claims: { sub: required(id('ses')), agt: required(isName), srv: optional(isName), tol: optional(isName) },
  },
  host: {
    typ: 'sallyport-host+jwt',
    aud: 'sallyport-core',
    lifetimeS: 900,
    claims: { sub: required(id('env')), hep: required(isEpoch), pod: required(isName) },
  },
  egress: {
    typ: 'sallyport-egress+jwt',
    aud: 'sallyport-egress',
    lifetimeS: 900,
    claims: {
      sub: required(id('env')),
      hep: required(isEpoch),
      pod: required(isName),
      ses: optional(id('ses')),
      trn: optional(id('trn')),
    },
  },
};

/** The issuer of every token of an installation. */
export function issuerOf(tenantId: string): string {
  return `urn:sallyport:tenant:${tenantId}`;
}
