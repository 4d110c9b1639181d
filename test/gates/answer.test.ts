/** How a refusal looks: the shape of each family, who is told not to ask again, and in which way. */
import { describe, expect, it } from 'vitest';
import { formatRefusal, type Surface } from '../../gates/answer.ts';
import { REFUSALS, type RefusalReason } from '../../gates/reasons.ts';

const REASONS = Object.keys(REFUSALS) as RefusalReason[];
const CODEX = 'codex_exec/0.171.0 (Debian 12.0.0; x86_64) unknown (codex_exec; 0.171.0)';
const VERCEL = 'ai/7.0.173 ai-sdk-provider-utils/5.0.81 node.js/24';
const statusFor = (reason: RefusalReason, userAgent?: string): number =>
  formatRefusal('openai', reason, { userAgent }).status;

describe('the shape of a refusal', () => {
  const shapes: Readonly<Record<Surface, object>> = {
    openai: { error: { message: 'M', type: 'invalid_request_error', param: null, code: 'run_stale' } },
    anthropic: { type: 'error', error: { type: 'invalid_request_error', message: 'M', code: 'run_stale' } },
    gemini: {
      error: {
        code: 409,
        message: 'M',
        status: 'ABORTED',
        details: [
          {
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'run_stale',
            domain: 'sallyport',
          },
        ],
      },
    },
    mcp: { jsonrpc: '2.0', id: null, error: { code: 409, message: 'M', data: { reason: 'run_stale' } } },
    own: { error: { code: 'run_stale', message: 'M' } },
  };
  for (const [surface, shape] of Object.entries(shapes)) {
    it(`is ${surface}’s`, () => {
      const { status, headers, body } = formatRefusal(surface as Surface, 'run_stale');
      expect([status, headers['sallyport-reason'], headers['x-should-retry']]).toEqual([
        409,
        'run_stale',
        'false',
      ]);
      expect(JSON.parse(body.replace(/"message":"[^"]*"/, '"message":"M"'))).toEqual(shape);
    });
  }

  it('has what is known beside the reason, and when to come again', () => {
    const detail = { text: 'it speaks openai', retryAfterSeconds: 12.2 };
    const { headers, body } = formatRefusal('anthropic', 'dialect_unserved', { detail });
    expect(headers['retry-after']).toBe('13');
    const { text, remedy } = REFUSALS.dialect_unserved;
    expect(JSON.parse(body).error.message).toBe(`${text}: it speaks openai; ${remedy}`);
    expect(formatRefusal('own', 'run_stale').headers['retry-after']).toBeUndefined();
    const soon = formatRefusal('own', 'run_stale', { detail: { text: 'x', retryAfterSeconds: 0 } });
    expect(soon.headers['retry-after']).toBe('1');
  });
});

describe('a refusal that no re-send can mend', () => {
  it('says so to everybody, and keeps its status for those who listen', () => {
    for (const reason of REASONS) {
      const { headers, status } = formatRefusal('openai', reason, { userAgent: 'OpenAI/JS 6.49.0' });
      expect([headers['x-should-retry'], status]).toEqual([
        REFUSALS[reason].again ? undefined : 'false',
        REFUSALS[reason].status,
      ]);
    }
  });

  it('is 400 to Codex, which sends all else again, but for the 401 on which it fetches a token', () => {
    for (const reason of REASONS) {
      const { again, status } = REFUSALS[reason];
      expect(statusFor(reason, CODEX)).toBe(again || reason === 'token_expired' ? status : 400);
    }
  });

  it('is 400 to Claude Code for a 404, which it would ask again without a stream', () => {
    for (const reason of REASONS) {
      const { status } = REFUSALS[reason];
      expect(statusFor(reason, 'claude-cli/2.1.332 (external, sdk-cli)')).toBe(status === 404 ? 400 : status);
    }
  });

  it('is 400 to Vercel’s SDK where it would send it again', () => {
    for (const reason of REASONS) {
      const { again, status } = REFUSALS[reason];
      const resends = status === 409 || status === 429 || status >= 500;
      expect(statusFor(reason, VERCEL)).toBe(!again && resends ? 400 : status);
    }
  });

  it('asks for a credential only with a 401', () => {
    for (const userAgent of [undefined, CODEX])
      for (const reason of REASONS) {
        const { headers, status } = formatRefusal('openai', reason, { userAgent });
        expect(headers['www-authenticate'] !== undefined).toBe(status === 401);
      }
  });
});
