/**
 * PEM for certificates: written as RFC 7468 says (64 characters a line, no empty line whatever the length),
 * and read out of files that may hold comments or other blocks. Private keys are neither written nor
 * read here.
 */

/** One certificate in PEM, ending in a newline. */
export function writeCertificatePem(der: Buffer): string {
  const base64 = der.toString('base64');
  const lines: string[] = [];
  for (let start = 0; start < base64.length; start += LINE_LENGTH) {
    lines.push(base64.slice(start, start + LINE_LENGTH));
  }
  return [BEGIN, ...lines, END, ''].join('\n');
}

/**
 * The DER of each `CERTIFICATE` block, in the order of the text; what stands between them is passed over.
 * Throws an `Error` when there is no block, or one that is cut off or not base64.
 */
export function readCertificatePem(text: string): readonly Buffer[] {
  const blocks = text.split(BEGIN).slice(1);
  if (blocks.length === 0) throw new Error('the text holds no PEM certificate');
  return blocks.map(readBlock);
}

function readBlock(block: string): Buffer {
  const end = block.indexOf(END);
  const base64 = block.slice(0, Math.max(end, 0)).replaceAll(/\s/g, '');
  // Buffer.from skips what is not base64, so a damaged block would pass as another certificate.
  if (base64 === '' || !BASE64.test(base64)) throw new Error('a PEM certificate is cut off or not base64');
  return Buffer.from(base64, 'base64');
}

const BEGIN = '-----BEGIN CERTIFICATE-----';
const END = '-----END CERTIFICATE-----';
const LINE_LENGTH = 64;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
