/** Whether an input may stand where a tool's manifest has it: what would be more than data there is refused. */
import { fieldsOf, fillTemplate, type Piece } from '../../core-lite/state/manifest/template.ts';
import { HEADER_VALUE } from '../../core-lite/vault/placement.ts';
import type { ToolPlan } from './tool-plan.ts';
import { anyText, plainText, readField, type ToolInput } from './tool-values.ts';

/** One line on the first field that may not, never its value; `null` where all may. */
export function findUnfit(plan: ToolPlan, input: ToolInput, encoded: readonly string[]): string | null {
  for (const step of plan.steps) {
    const unfit = judgeStep(step, input);
    if (unfit) return unfit;
  }
  for (const [, value] of plan.headers) {
    const unfit = judgeHeader(value, input);
    if (unfit) return unfit;
  }
  const garbled = [...plan.pairs.flatMap(fieldsOf), ...encoded].find(
    (field) => !isWellFormed(field) || !isWellFormed(readField(input, field)),
  );
  return garbled === undefined ? null : 'input has a text for the URL or the form that is not well-formed';
}

/** One step of the path stays one step, and is neither the folder that it stands in nor the one above. */
function judgeStep(step: readonly Piece[], input: ToolInput): string | null {
  const fields = fieldsOf(step);
  for (const field of fields) {
    const text = plainText(readField(input, field));
    if (text === null || text === '')
      return `input/${field} must be a text, number or boolean: the path needs it`;
    if (NO_STEP.test(text) || !text.isWellFormed()) {
      return `input/${field} must hold no slash, backslash or control character: it is one step of the path`;
    }
  }
  const filled = fillTemplate(step, (field) => plainText(readField(input, field)));
  const dots = fields.length > 0 && /^\.{1,2}$/.test(filled ?? '');
  return dots ? `input/${fields[0]} must not make a step of dots in the path` : null;
}

function judgeHeader(value: readonly Piece[], input: ToolInput): string | null {
  const fields = fieldsOf(value);
  const texts = fields.map((field) => readField(input, field));
  if (texts.includes(undefined)) return null;
  const odd = fields.find((_, place) => plainText(texts[place]) === null);
  if (odd !== undefined) return `input/${odd} must be a text, number or boolean: it stands in a header`;
  const filled = fillTemplate(value, (field) => plainText(readField(input, field))) ?? '';
  if (HEADER_VALUE.test(filled) && filled.length <= MAX_HEADER_CHARS) return null;
  return `input/${fields[0] ?? ''} must be at most ${MAX_HEADER_CHARS} visible ASCII characters: it stands in a header`;
}

function isWellFormed(value: unknown): boolean {
  return anyText(value)?.isWellFormed() ?? true;
}

const NO_STEP = /[\p{Cc}/\\]/u;
const MAX_HEADER_CHARS = 4 * 1024;
