/**
 * The secret of one run: what its clients show to the relay, since every user of the machine reaches its loopback. It
 * opens this relay while the run lasts, and nothing else.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 192 bits, in hexadecimal: it stands in URLs and headers as it is. */
export function makeRunSecret(): string {
  return randomBytes(24).toString('hex');
}

/** Whether `shown` is the secret; takes as long wherever it differs. */
export function isRunSecret(shown: string | null | undefined, secret: string): boolean {
  return typeof shown === 'string' && timingSafeEqual(digest(shown), digest(secret));
}

/** The secret in a `Proxy-Authorization` or `Authorization` value: a Basic password, or a Bearer. */
export function readCredential(header: string): string | null {
  const match = CREDENTIAL.exec(header);
  if (!match?.[1] || !match[2]) return null;
  if (match[1].toLowerCase() === 'bearer') return match[2];
  const decoded = Buffer.from(match[2], 'base64').toString('latin1');
  const colon = decoded.indexOf(':');
  return colon < 0 ? null : decoded.slice(colon + 1);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** RFC 9110 11.4: a scheme in any case, spaces, one token68. */
const CREDENTIAL = /^(basic|bearer) +([A-Za-z0-9._~+/-]{1,1024}=*)$/i;
