/** The trust store as Java reads it: Java must be here, since nothing else shows that it is not taken for an empty one. */
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import forge from 'node-forge';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAuthority, openAuthority } from '../../certs/authority.ts';
import { trustBundlePem } from '../../certs/bundle.ts';
import { LeafCache } from '../../certs/leaf-cache.ts';
import { readCertificatePem } from '../../certs/pem.ts';
import { writeTrustStore } from '../../certs/trust-store.ts';
import { serve, type TestServer } from './tls-pair.ts';

const HOST = 'api.example.com';
const material = makeAuthority({ name: 'Sallyport egress 1', now: new Date() });
const stranger = makeAuthority({ name: 'another', now: new Date() });
const bundlePem = trustBundlePem(material.certificatePem);
const COMPILING = { timeout: 60_000 };

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-trust-'));
  await writeFile(file('trust.p12'), writeTrustStore(bundlePem));
  await writeFile(file('other.p12'), writeTrustStore(trustBundlePem(stranger.certificatePem)));
  server = await serve(new LeafCache(openAuthority(material)));
});
afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true });
});

describe('the file', () => {
  it('holds the certificates of the bundle, in their order, and nothing else', () => {
    const held = readBags(writeTrustStore(bundlePem));
    expect(held).toEqual(readCertificatePem(bundlePem).map((der) => new X509Certificate(der).fingerprint256));
  });

  it('has its attributes in the order that DER asks for', () => {
    const text = writeTrustStore(material.certificatePem).toString('hex');
    const [trusted, name] = [text.indexOf(TRUSTED_KEY_USAGE), text.indexOf(FRIENDLY_NAME)];
    expect(trusted).toBeGreaterThan(0);
    expect(trusted).toBeLessThan(name);
  });

  it.each(['', '# nothing'])('is not made of %j', (text) => {
    expect(() => writeTrustStore(text)).toThrow(/no PEM certificate/);
  });
});

describe('Java', () => {
  it('lists every certificate as a trusted one, and asks for no password', async () => {
    const { stdout } = await run('keytool', [
      '-J-Duser.language=en',
      '-list',
      '-keystore',
      file('trust.p12'),
    ]);
    expect(stdout.match(/trustedCertEntry/g)).toHaveLength(readCertificatePem(bundlePem).length);
  });

  it('trusts our leaf by its default context', COMPILING, async () => {
    const { stdout } = await shakeHands('trust.p12');
    expect(stdout.trim()).toBe('hello');
  });

  it('does not, with the roots and another CA', COMPILING, async () => {
    await expect(shakeHands('other.p12')).rejects.toThrow(/PKIX path building failed/);
  });
});

function shakeHands(store: string) {
  const trust = [`-Djavax.net.ssl.trustStore=${file(store)}`, '-Djavax.net.ssl.trustStoreType=PKCS12'];
  const program = join(import.meta.dirname, 'programs', 'TrustedByDefault.java');
  return run('java', [...trust, program, `${server.port}`, HOST]);
}

/** Rejects with what the program complained of. */
function run(program: string, words: readonly string[]) {
  const running = promisify(execFile)(program, words);
  running.child.stdin?.end('\n');
  return running;
}

/** The fingerprints of what another reader of PKCS#12 finds in it. */
function readBags(bytes: Buffer): string[] {
  const store = forge.pkcs12.pkcs12FromAsn1(forge.asn1.fromDer(bytes.toString('latin1')), false, '');
  const bags = store.safeContents.flatMap(({ safeBags }) => safeBags);
  return bags.map(({ asn1, cert }) => {
    const der = cert ? forge.pki.certificateToAsn1(cert) : asn1;
    return new X509Certificate(Buffer.from(forge.asn1.toDer(der).getBytes(), 'latin1')).fingerprint256;
  });
}

function file(name: string): string {
  return join(folder, name);
}

const TRUSTED_KEY_USAGE = '060c6086480186f966ad';
const FRIENDLY_NAME = '06092a864886f70d010914';
