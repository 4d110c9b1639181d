/**
 * One count from the counts of all dialects, as the columns of `model_usage` have it: the input is all that the model
 * read, the cache's part among it, the output all that it wrote, what it did not show among it. A count that a server
 * gives under another server's name is read, too, where it can mean nothing else.
 */
import type { ApartCounts, TokenCounts } from '../../core-lite/record/usage-ledger.ts';
import type { Dialect } from '../../core-lite/state/dialect.ts';
import { asObject, type Fields } from './usage.ts';

export function countTokens(dialect: Dialect, usage: Fields): TokenCounts {
  const { cost } = usage;
  const told = typeof cost === 'number' && Number.isFinite(cost) && cost >= 0;
  return { ...countBy(dialect, usage), ...(told ? { toldUsd: cost } : {}) };
}

function countBy(dialect: Dialect, usage: Fields): TokenCounts {
  switch (dialect) {
    case 'openai':
    case 'responses':
      return countOpenai(usage);
    case 'embeddings': {
      const counts = countOpenai(usage);
      // What embeds writes no tokens, and some servers say so by silence.
      return { ...counts, output: counts.output ?? (counts.input === null ? null : 0) };
    }
    case 'anthropic':
      return countAnthropic(usage);
    case 'gemini':
      return countGemini(usage);
    default:
      return dialect satisfies never;
  }
}

/** Chat Completions, Responses and Embeddings: input and output with their parts among them. */
function countOpenai(usage: Fields): TokenCounts {
  const read = asObject(usage['prompt_tokens_details'] ?? usage['input_tokens_details']);
  const wrote = asObject(usage['completion_tokens_details'] ?? usage['output_tokens_details']);
  const hit = count(usage['prompt_cache_hit_tokens']);
  const miss = count(usage['prompt_cache_miss_tokens']);
  const cached = first(read?.['cached_tokens'], hit, usage['cached_tokens']);
  const cacheWrite = first(read?.['cache_write_tokens'], read?.['cache_creation_tokens']);
  const reasoning = first(wrote?.['reasoning_tokens'], usage['reasoning_tokens']);
  const told = first(usage['prompt_tokens'], usage['input_tokens'], sum(hit, miss));
  const parts = (cached ?? 0) + (cacheWrite ?? 0);
  // A whole that is smaller than its parts leaves them out.
  const input = told !== null && parts > told ? told + parts : told;
  const output = countOutput(usage, input, reasoning);
  return { input, output, cached, cacheWrite, reasoning };
}

/** xAI leaves what was reasoned out of the output, and so do Gemini’s OpenAI routes: the total has it. */
function countOutput(usage: Fields, input: number | null, reasoning: number | null): number | null {
  const told = first(usage['completion_tokens'], usage['output_tokens']);
  const total = count(usage['total_tokens']);
  if (told === null) return null;
  if (total !== null && input !== null && total > input + told) return total - input;
  return reasoning !== null && reasoning > told ? told + reasoning : told;
}

/**
 * Messages, with its iterations: what the model itself said in several goes is in the whole usage; a compaction of the
 * context, and what another model was asked, is not.
 */
function countAnthropic(usage: Fields): TokenCounts {
  const whole = countMessage(usage);
  const told = usage['iterations'];
  const iterations = (Array.isArray(told) ? told : []).map(asObject).filter((each) => each !== null);
  if (iterations.length === 0) return whole;
  const own = iterations.filter(({ type }) => OWN_ITERATIONS.has(String(type))).map(countMessage);
  const others = iterations.filter(({ type }) => !OWN_ITERATIONS.has(String(type)));
  const added = others.map(countMessage);
  const total = (name: 'input' | 'output' | 'cached' | 'cacheWrite' | 'cacheWriteHour'): number | null => {
    const said = own.map((each) => each[name] ?? null).reduce(sum, null);
    const most = said === null ? (whole[name] ?? null) : Math.max(whole[name] ?? 0, said);
    return count(added.map((each) => each[name] ?? null).reduce(sum, most));
  };
  const hour = total('cacheWriteHour');
  return {
    ...whole,
    input: total('input'),
    output: total('output'),
    cached: total('cached'),
    cacheWrite: total('cacheWrite'),
    ...(hour ? { cacheWriteHour: hour } : {}),
    ...listApart(others),
  };
}

function listApart(iterations: readonly Fields[]): Pick<TokenCounts, 'apart'> {
  const apart = iterations.flatMap((usage): ApartCounts[] => {
    const { input, output, cached, cacheWrite, cacheWriteHour } = countMessage(usage);
    const model = usage['model'];
    if (typeof model !== 'string' || model.length > MAX_NAME_CHARS || input === null || output === null)
      return [];
    const cache = { cached: cached ?? 0, cacheWrite: cacheWrite ?? 0, cacheWriteHour: cacheWriteHour ?? 0 };
    return [{ model, input, output, ...cache }];
  });
  return apart.length > 0 ? { apart } : {};
}

/** The input leaves out what came from the cache and what went into it. */
function countMessage(usage: Fields): TokenCounts {
  const fresh = count(usage['input_tokens']);
  const cached = count(usage['cache_read_input_tokens']);
  const cacheWrite = count(usage['cache_creation_input_tokens']);
  const kept = count(asObject(usage['cache_creation'])?.['ephemeral_1h_input_tokens']);
  const searches = count(asObject(usage['server_tool_use'])?.['web_search_requests']);
  const wrote = asObject(usage['output_tokens_details']);
  return {
    input: fresh === null ? null : fresh + (cached ?? 0) + (cacheWrite ?? 0),
    output: count(usage['output_tokens']),
    cached,
    cacheWrite,
    reasoning: first(wrote?.['thinking_tokens'], wrote?.['reasoning_tokens']),
    ...(kept ? { cacheWriteHour: kept } : {}),
    ...(searches ? { webSearches: searches } : {}),
  };
}

/** Gemini: the prompt has the cache's part, the candidates leave out the thoughts; a tool's prompt is apart. */
function countGemini(usage: Fields): TokenCounts {
  const input = sum(count(usage['promptTokenCount']), count(usage['toolUsePromptTokenCount']));
  const reasoning = count(usage['thoughtsTokenCount']);
  const wrote = sum(count(usage['candidatesTokenCount']), reasoning);
  const total = count(usage['totalTokenCount']);
  const rest = input === null || total === null || total < input ? null : total - input;
  const cached = count(usage['cachedContentTokenCount']);
  return { input, output: wrote ?? rest, cached, cacheWrite: null, reasoning };
}

/** The first of these that is a count. */
function first(...values: readonly unknown[]): number | null {
  for (const value of values) {
    const found = count(value);
    if (found !== null) return found;
  }
  return null;
}

function sum(one: number | null, other: number | null): number | null {
  return one === null && other === null ? null : (one ?? 0) + (other ?? 0);
}

function count(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MAX_COUNT
    ? (value as number)
    : null;
}

const MAX_NAME_CHARS = 128;
const OWN_ITERATIONS: ReadonlySet<string> = new Set(['message', 'fallback_message']);
/** No call reads or writes as much: what tells more is not believed, and must not leave the ledger's columns. */
const MAX_COUNT = 10_000_000_000;
