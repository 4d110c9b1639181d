/**
 * Reads what a gate must know of a model call from the bytes of its body, and where it stands in them. Nothing is parsed
 * that is not needed and nothing is written anew: a body goes on byte for byte, but for the edits named here. A body
 * that two readers could read in two ways is refused, since the other reader would be the provider.
 */
import type { Dialect } from '../../core-lite/state/dialect.ts';
import type { RefusalDetail } from '../answer.ts';
import type { Operation } from '../dialects/operations.ts';
import type { RefusalReason } from '../reasons.ts';
import { BODY_PARTS } from './body-parts.ts';
import type { Edit } from './edit.ts';
import { foldCase, squash } from './fold.ts';
import { InputEstimate } from './input-estimate.ts';
import { parseText, type Span, visitObject } from './json-bytes.ts';
import { PartVisitor } from './part-visitor.ts';

export interface ModelBody {
  readonly model: string;
  readonly streamed: boolean;
  /** The bytes of the model's name with its quotes. `null` where the path names it. */
  readonly modelSpan: Span | null;
  /** About how many tokens it gives to read. */
  readonly inputEstimate: number;
  /** How many tokens it lets each answer have; `null` where it does not say. */
  readonly maxOutput: number | null;
  /** The limit that is below zero, which some servers take for none; `null` where none is. */
  readonly negative: string | null;
  /** How many answers it asks for. */
  readonly answers: number;
  /** What makes its stream tell the usage; `null` where it does, or where the dialect always does. */
  readonly usageEdit: Edit | null;
}

/** Why a body is not read. */
interface Misread {
  readonly refusal: RefusalReason;
  readonly detail?: RefusalDetail;
}

/**
 * @param body plain JSON in UTF-8
 * @param pathModel the model that the path names, where it does
 */
export function readModelBody(
  body: Buffer,
  operation: Operation,
  pathModel: string | null,
): ModelBody | Misread {
  const { dialect } = operation;
  const estimate = new InputEstimate(body);
  const found = readAll(body, dialect, estimate);
  if ('refusal' in found) return found;
  const { top, nested } = found;
  const all = new Map([...nested, ...top]);
  if (pathModel !== null && !repeatsModel(body, top.get('model'), pathModel)) {
    return { refusal: 'further_model', detail: { text: 'model' } };
  }
  const wrong = findWrong(body, all, dialect);
  if (wrong) return misread(wrong);
  const streamed = operation.streamed === 'body' ? isTrue(body, top.get('stream')) : operation.streamed;
  const named = pathModel === null ? nameOf(body, top.get('model')) : { model: pathModel, modelSpan: null };
  if (!named) return { refusal: 'model_missing' };
  const limits = LIMITS.map((name) => readCount(body, all.get(name))).filter((count) => count !== null);
  const answers = ANSWERS.map((name) => readCount(body, all.get(name)) || 1);
  return {
    ...named,
    streamed,
    inputEstimate: estimate.tokens,
    // Of two, some providers take the one and some the other.
    maxOutput: limits.length > 0 && !limits.includes(UNLIMITED) ? Math.max(...limits) : null,
    negative: LIMITS.find((name) => readCount(body, all.get(name)) === UNLIMITED) ?? null,
    answers: Math.max(1, ...answers),
    usageEdit: streamed && dialect === 'openai' ? makeUsageEdit(body, top, nested) : null,
  };
}

/** What puts another model's name into the body; `null` where the name stays, or stands in the path. */
export function makeNameEdit({ model, modelSpan }: ModelBody, name: string): Edit | null {
  return name === model || !modelSpan ? null : { span: modelSpan, text: JSON.stringify(name) };
}

/** A body may say again what its path says, as Google's own resources are named. */
function repeatsModel(body: Buffer, span: Span | undefined, model: string): boolean {
  if (!span || readSwitch(body, span) === null) return true;
  const text = parseText(body, span);
  return text === model || text === `models/${model}`;
}

type Fields = ReadonlyMap<string, Span>;

interface Found {
  readonly top: Fields;
  readonly nested: Fields;
}

/** What is looked for, or why it is not: a body that names a further model has another be called than was decided. */
function readAll(body: Buffer, dialect: Dialect, estimate: InputEstimate): Found | Misread {
  const names = FIELDS[dialect];
  let further: string | null = null;
  const furtherModel = (path: string): void => {
    further ??= path;
  };
  const media: InputEstimate['media'] = (...text) => estimate.media(...text);
  const parts = new PartVisitor(body, BODY_PARTS[dialect], { furtherModel, media });
  const top = readFields(body, [0, body.length], names.top, parts);
  if (further !== null) return { refusal: 'further_model', detail: { text: further } };
  const nested = typeof top === 'string' ? top : readNested(body, top, names.nested);
  return typeof top === 'string' || typeof nested === 'string' ? misread(top, nested) : { top, nested };
}

/** @param found what was read, or a line on what is wrong; the first one counts */
function misread(...found: readonly (Fields | string)[]): Misread {
  const text = found.find((each) => typeof each === 'string');
  return { refusal: 'body_malformed', ...(text ? { detail: { text } } : {}) };
}

/** The fields of these names, or a line on why the span is not one object that has each at most once. */
function readFields(
  body: Buffer,
  span: Span,
  names: readonly string[],
  others?: PartVisitor,
): Fields | string {
  const fields = new Map<string, Span>();
  let repeated: string | null = null;
  const folded = new Map(names.map((name) => [foldCase(name), name]));
  const whole = visitObject(body, span, {
    ...(others ? { inside: others.inside } : {}),
    field: (name, value) => {
      const known = folded.get(foldCase(name));
      if (known === undefined) return others?.field(name, value) ?? true;
      // Go's decoder takes `Model` for `model`; of two keys, readers differ on which one counts.
      if (known !== name || fields.has(name)) {
        repeated = `${known} is there twice, or in other letters`;
        return false;
      }
      fields.set(name, value);
      return true;
    },
  });
  return whole ? fields : (repeated ?? 'it is not one whole JSON object, or has too many fields');
}

/** The fields of the objects that hold what is looked for; another value has none. */
function readNested(
  body: Buffer,
  top: Fields,
  nested: Readonly<Record<string, readonly string[]>>,
): Fields | string {
  const all = new Map<string, Span>();
  if (top.has('generationConfig') && top.has('generation_config')) return TWICE_SPELT;
  for (const [holder, names] of Object.entries(nested)) {
    const span = top.get(holder);
    if (!span || body[span[0]] !== OPEN_BRACE) continue;
    const fields = readFields(body, span, names);
    if (typeof fields === 'string') return fields;
    for (const [name, value] of fields) {
      // It is there in both spellings: which one counts is the provider's to choose.
      if ([...all.keys()].some((other) => squash(other) === squash(name))) return TWICE_SPELT;
      all.set(name, value);
    }
  }
  return all;
}

function nameOf(body: Buffer, span: Span | undefined): Pick<ModelBody, 'model' | 'modelSpan'> | null {
  const model = span && parseText(body, span);
  return span && model ? { model, modelSpan: span } : null;
}

/** What of the fields that count is not as every provider reads it: a line on it, or `null`. */
function findWrong(body: Buffer, fields: Fields, dialect: Dialect): string | null {
  for (const [name, span] of fields) {
    if (COUNTS.has(name) && !isCount(body, name, span, dialect)) return describeNoCount(name);
    if (SWITCHES.has(name) && readSwitch(body, span) === undefined) return `${name} is not true or false`;
    if (OBJECTS.has(name) && !isObjectOrNull(body, span)) return `${name} is not an object`;
  }
  const background = fields.get('background');
  if (background && readSwitch(body, background))
    return 'background is not served: its usage would come later';
  return null;
}

export function describeNoCount(name: string): string {
  return `${name} is not a positive whole number`;
}

/** With a limit of 0 Anthropic writes its cache and no answer: whether it is one depends on who answers. One below zero is told of. */
function isCount(body: Buffer, name: string, span: Span, dialect: Dialect): boolean {
  const count = readCount(body, span);
  if (count === 0) return dialect === 'anthropic' && LIMITS.includes(name);
  return count === UNLIMITED ? LIMITS.includes(name) : !Number.isNaN(count);
}

/** `null` where it is not said, `UNLIMITED` where it is below zero, `NaN` where it is no count. */
function readCount(body: Buffer, span: Span | undefined): number | null {
  if (!span) return null;
  if (span[1] - span[0] > MAX_NUMBER_BYTES) return Number.NaN;
  const text = body.toString('latin1', ...span);
  if (text === 'null') return null;
  if (/^-[1-9]\d*$/.test(text)) return UNLIMITED;
  return /^(?:0|[1-9]\d*)$/.test(text) ? Math.min(Number(text), MAX_COUNT) : Number.NaN;
}

/** `undefined` where it is none. */
function readSwitch(body: Buffer, [from, to]: Span): boolean | null | undefined {
  return to - from > MAX_NUMBER_BYTES ? undefined : SWITCH_VALUES.get(body.toString('latin1', from, to));
}

function isObjectOrNull(body: Buffer, span: Span): boolean {
  return body[span[0]] === OPEN_BRACE || readSwitch(body, span) === null;
}

function isTrue(body: Buffer, span: Span | undefined): boolean {
  return span !== undefined && readSwitch(body, span) === true;
}

function makeUsageEdit(body: Buffer, top: Fields, nested: Fields): Edit | null {
  const options = top.get('stream_options');
  const stream = top.get('stream');
  if (!options) return stream ? { span: [stream[1], stream[1]], text: `,"stream_options":{${ASKED}}` } : null;
  const asked = nested.get('include_usage');
  const said = asked && body.toString('latin1', ...asked);
  if (asked) return said === 'false' || said === 'null' ? { span: asked, text: 'true' } : null;
  const held = body.toString('latin1', ...options);
  if (held === 'null') return { span: options, text: `{${ASKED}}` };
  if (body[options[0]] !== OPEN_BRACE) return null;
  const inside = options[0] + 1;
  return { span: [inside, inside], text: /^\{\s*\}$/.test(held) ? ASKED : `${ASKED},` };
}

const TWICE_SPELT = 'a field is there in both of its spellings';

interface FieldNames {
  readonly top: readonly string[];
  /** By the field that holds them. */
  readonly nested: Readonly<Record<string, readonly string[]>>;
}

/** Google's JSON takes each name in both spellings. */
const GENERATION = ['maxOutputTokens', 'max_output_tokens', 'candidateCount', 'candidate_count'];
const FIELDS: Readonly<Record<Dialect, FieldNames>> = {
  openai: {
    top: ['model', 'stream', 'max_tokens', 'max_completion_tokens', 'n', 'stream_options'],
    nested: { stream_options: ['include_usage'] },
  },
  responses: { top: ['model', 'stream', 'max_output_tokens', 'background'], nested: {} },
  embeddings: { top: ['model'], nested: {} },
  anthropic: { top: ['model', 'stream', 'max_tokens'], nested: {} },
  gemini: {
    top: ['model', 'generationConfig', 'generation_config'],
    nested: { generationConfig: GENERATION, generation_config: GENERATION },
  },
};
const LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'maxOutputTokens'];
const ANSWERS = ['n', 'candidateCount', 'candidate_count'];
const COUNTS: ReadonlySet<string> = new Set([...LIMITS, ...ANSWERS]);
const SWITCHES: ReadonlySet<string> = new Set(['stream', 'include_usage', 'background']);
const OBJECTS: ReadonlySet<string> = new Set(['stream_options', 'generationConfig', 'generation_config']);
const SWITCH_VALUES: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);
const ASKED = '"include_usage":true';
const OPEN_BRACE = 0x7b;
const MAX_NUMBER_BYTES = 64;
/** LM Studio and llama.cpp take a limit below zero for none. */
const UNLIMITED = -1;
/** More than any model writes, and few enough to be added up. */
const MAX_COUNT = 100_000_000;
