/**
 * What calls cost, by their providers' list prices: from the price library's bundled data, which is never renewed over
 * the network. What a provider takes off or adds for a customer, a tier or a region is not known here.
 */
import { calcPrice, type Provider } from '@pydantic/genai-prices';
import { findProvider } from '../core-lite/providers/catalogue.ts';
import type { ApartCounts, TokenCounts } from '../core-lite/record/usage-ledger.ts';
import { ECHO_MODEL } from '../core-lite/state/model.ts';

/** Whose price is asked for. */
export interface Priced {
  /** A name of `core-lite/providers/`; `null` for a call that found no model. */
  readonly provider: string | null;
  /** The provider's name for the model. */
  readonly model: string;
  /** Prices change, and some have their hours. */
  readonly at: Date;
}

/** In US dollars, to ten places; `null` where the tokens or their price are not known. */
export function priceCall(of: Priced, tokens: TokenCounts): number | null {
  const { input, output } = tokens;
  if (input === null || output === null) return null;
  if (of.provider === ECHO_MODEL.provider) return 0;
  const told = toldCost(of.provider, tokens);
  const listed = listCost(of, { ...tokens, input, output });
  // It knows what it took beside: for a route, a tool, or another model.
  return listed === null || told === null ? (listed ?? told) : Math.max(listed, told);
}

type Known = TokenCounts & { readonly input: number; readonly output: number };

/** What other models read and wrote costs what they cost, where that is known. */
function listCost(of: Priced, tokens: Known): number | null {
  const known = findPriced(of);
  if (!known) return null;
  let own = tokens;
  let others = 0;
  for (const apart of tokens.apart ?? []) {
    const other = { ...of, model: apart.model };
    const priced = findPriced(other);
    const cost = priced && calculate(priced, other, { ...NO_PARTS, ...apart });
    if (cost === null) continue;
    others += cost;
    own = subtract(own, apart);
  }
  const cost = calculate(known, of, own);
  return cost === null ? null : roundCost(cost + others);
}

function subtract(from: Known, apart: ApartCounts): Known {
  const less = (whole: number | null | undefined, part: number): number => Math.max(0, (whole ?? 0) - part);
  return {
    ...from,
    input: less(from.input, apart.input),
    output: less(from.output, apart.output),
    cached: less(from.cached, apart.cached),
    cacheWrite: less(from.cacheWrite, apart.cacheWrite),
    cacheWriteHour: less(from.cacheWriteHour, apart.cacheWriteHour),
  };
}

/** What a call may cost, nothing of it from a cache; `null` where the price is not known. */
export function estimateCost(
  of: Priced,
  { input, output }: { readonly input: number; readonly output: number },
): number | null {
  return priceCall(of, { input, output, cached: null, cacheWrite: null, reasoning: null });
}

/** The provider with this one model: a search through all of them costs more than the sum. */
function findPriced({ provider, model, at }: Priced): Provider | null {
  const providerId = provider === null ? null : (findProvider(provider)?.prices ?? null);
  if (providerId === null) return null;
  const key = `${providerId} ${model}`;
  const known = KNOWN.get(key);
  if (known !== undefined) return known;
  const found = calcPrice({}, model, { providerId, timestamp: at });
  const narrowed = found && { ...found.provider, models: [found.model] };
  // Names come from the operator's catalogue, or from a provider's answer: they are few.
  if (KNOWN.size >= MAX_KNOWN) KNOWN.clear();
  KNOWN.set(key, narrowed);
  return narrowed;
}

/** What a provider says that is known to say it in dollars. */
function toldCost(provider: string | null, { toldUsd }: TokenCounts): number | null {
  const services = Object.values((provider === null ? null : findProvider(provider))?.services ?? {});
  const tells = services.some(({ usage }) => usage?.cost !== undefined);
  return tells && toldUsd !== undefined ? roundCost(toldUsd) : null;
}

function calculate(provider: Provider, { model, at }: Priced, tokens: Known): number | null {
  const { input, output } = tokens;
  const cached = Math.min(tokens.cached ?? 0, input);
  const cacheWrite = Math.min(tokens.cacheWrite ?? 0, input - cached);
  const usage = {
    input_tokens: input,
    cache_read_tokens: cached,
    cache_write_tokens: cacheWrite,
    output_tokens: output,
    ...(tokens.cacheWriteHour ? { cache_write_1h_tokens: Math.min(tokens.cacheWriteHour, cacheWrite) } : {}),
    ...(tokens.webSearches ? { web_searches: tokens.webSearches } : {}),
  };
  const cost = calcPrice(usage, model, { provider, timestamp: at })?.total_price ?? Number.NaN;
  return roundCost(cost);
}

function roundCost(cost: number): number | null {
  return cost >= 0 && cost <= MAX_COST ? Math.round(cost * 1e10) / 1e10 : null;
}

const NO_PARTS = { reasoning: null };
const KNOWN = new Map<string, Provider | null>();
const MAX_KNOWN = 1_000;
/** US dollars: no call costs as much, and what is more does not fit the ledger's column. */
const MAX_COST = 1e9;
