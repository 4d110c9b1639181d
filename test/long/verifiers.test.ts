/**
 * The CA and its leaves before verifiers that are not Node's: OpenSSL, Python, Java and Go, each where it is
 * installed.
 */
import { execFile, spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type AuthorityMaterial, makeAuthority, openAuthority } from '../../certs/authority.ts';
import { trustBundlePem } from '../../certs/bundle.ts';
import { issueLeaf } from '../../certs/leaf.ts';
import { LeafCache } from '../../certs/leaf-cache.ts';
import { serve, serveOneHost, type TestServer } from '../certs/tls-pair.ts';

const HOSTS = [
  'api.example.com',
  'localhost',
  `${'a'.repeat(56)}.example`,
  `${'b'.repeat(63)}.${'c'.repeat(63)}.example`,
];
const PROGRAMS = join(import.meta.dirname, '../certs/programs');
const PASSWORD = 'changeit';
// A compiler that runs for the first time has its own standard library to compile.
const COMPILING = { timeout: 180_000 };

const material = makeAuthority({ name: 'Sallyport egress 1', now: new Date() });
const authority = openAuthority(material);
let folder: string;
let server: TestServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sallyport-certs-'));
  await writeFile(file('ca.pem'), material.certificatePem);
  await writeFile(file('bundle.pem'), trustBundlePem(material.certificatePem));
  for (const host of HOSTS)
    await writeFile(leafFile(host), issueLeaf(authority, host, new Date()).certificatePem);
  server = await serve(new LeafCache(authority));
});

afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

describe.skipIf(!isInstalled('openssl', 'version'))('OpenSSL', () => {
  test.each(HOSTS)('verifies %s strictly', async (host) => {
    const rules = ['-x509_strict', '-purpose', 'sslserver', '-verify_hostname', host];
    const trust = ['-no-CApath', '-no-CAstore', '-CAfile', file('ca.pem')];
    expect(await run('openssl', 'verify', ...rules, ...trust, leafFile(host))).toMatch(/: OK$/m);
  });

  test('does not verify a leaf for another host', async () => {
    const rules = ['-x509_strict', '-verify_hostname', 'b.example', '-CAfile', file('ca.pem')];
    await expect(run('openssl', 'verify', ...rules, leafFile('api.example.com'))).rejects.toThrow(
      /hostname mismatch/i,
    );
  });

  test('verifies with the whole trust bundle', async () => {
    const trust = ['-no-CApath', '-no-CAstore', '-CAfile', file('bundle.pem')];
    expect(await run('openssl', 'verify', '-x509_strict', ...trust, leafFile('localhost'))).toMatch(/: OK$/m);
  });

  test('parses every certificate without complaint', async () => {
    for (const path of [file('ca.pem'), ...HOSTS.map(leafFile)]) {
      const { stdout, stderr } = await promisify(execFile)('openssl', ['asn1parse', '-in', path]);
      expect(stdout).toContain('ecdsa-with-SHA256');
      expect(stderr).toBe('');
    }
  });

  test('reads the extensions of the CA as critical where they must be', async () => {
    const text = await readExtensions(file('ca.pem'));
    expect(text).toContain('Basic Constraints: critical CA:TRUE, pathlen:0');
    expect(text).toContain('Key Usage: critical Certificate Sign, CRL Sign');
    expect(text).toMatch(/Subject Key Identifier: .* Authority Key Identifier: /);
  });

  test.each(HOSTS)('reads the extensions of the leaf for %s', async (host) => {
    const text = await readExtensions(leafFile(host));
    expect(text).toContain('Basic Constraints: critical CA:FALSE');
    expect(text).toContain('Key Usage: critical Digital Signature');
    expect(text).toContain('Extended Key Usage: TLS Web Server Authentication');
    expect(text).toContain(`Subject Alternative Name: ${host.length > 64 ? 'critical ' : ''}DNS:${host}`);
    expect(text).toMatch(/Subject Key Identifier: .* Authority Key Identifier: /);
  });
});

describe.skipIf(!isInstalled('openssl', 'version'))('a CA that OpenSSL made', () => {
  test('signs leaves that repeat its name byte for byte, whatever string types it has', async () => {
    const made = await makeWithOpenssl('foreign', 'P-256');
    const leaf = issueLeaf(openAuthority(made), 'api.example.com', new Date());
    // The attribute `C=DE` as a PrintableString (0x13): written anew it would be a UTF8String.
    const country = Buffer.from('310b3009060355040613024445', 'hex');
    expect(new X509Certificate(leaf.certificatePem).raw.includes(country)).toBe(true);
    await writeFile(file('foreign-leaf.pem'), leaf.certificatePem);
    const rules = ['-x509_strict', '-purpose', 'sslserver', '-verify_hostname', 'api.example.com'];
    const trust = ['-no-CApath', '-no-CAstore', '-CAfile', file('foreign.pem')];
    expect(await run('openssl', 'verify', ...rules, ...trust, file('foreign-leaf.pem'))).toMatch(/: OK$/m);
  });

  test.each([
    ['on another curve', 'P-384', [], /not on the curve P-256/],
    [
      'without a key identifier',
      'P-256',
      ['-addext', 'subjectKeyIdentifier=none'],
      /no subject key identifier/,
    ],
  ])('is refused %s', async (_case, curve, options, message) => {
    const made = await makeWithOpenssl('refused', curve, ...options);
    expect(() => openAuthority(made)).toThrow(message);
  });
});

describe.skipIf(!isInstalled('python3', '--version'))('Python', () => {
  test.each(HOSTS)('shakes hands with %s under the strict rules', async (host) => {
    const text = await run('python3', join(PROGRAMS, 'handshake.py'), `${server.port}`, host, file('ca.pem'));
    expect(text.trim()).toBe('TLSv1.3 hello');
  });
});

describe.skipIf(!isInstalled('keytool', '-help'))('Java', () => {
  beforeAll(async () => {
    await run(
      'keytool',
      '-importcert',
      '-noprompt',
      '-alias',
      'egress',
      '-file',
      file('ca.pem'),
      ...trustStore(),
    );
  });

  test.each(HOSTS)('keytool prints the leaf for %s', async (host) => {
    const text = await run('keytool', '-J-Duser.language=en', '-printcert', '-file', leafFile(host));
    expect(text).toContain(`DNSName: ${host}`);
    expect(text).toContain('serverAuth');
  });

  test('keytool imports the CA as a trusted one', async () => {
    expect(await run('keytool', '-J-Duser.language=en', '-list', ...trustStore())).toContain(
      'trustedCertEntry',
    );
  });

  describe.skipIf(!isInstalled('javac', '-version'))('a client', COMPILING, () => {
    test.each(HOSTS.filter((host) => host.includes('.')))('shakes hands with %s', async (host) => {
      expect(await shakeHandsInJava(server.port, host)).toBe('TLSv1.3 hello');
    });

    test('that sends no SNI, as Java does for a name of one label, shakes hands', async () => {
      const withoutSni = await serveOneHost(new LeafCache(authority), 'localhost');
      onTestFinished(() => withoutSni.close());
      expect(await shakeHandsInJava(withoutSni.port, 'localhost')).toBe('TLSv1.3 hello');
    });
  });
});

describe.skipIf(!isInstalled('go', 'version'))('Go', () => {
  test.each(HOSTS)('verifies %s', COMPILING, async (host) => {
    const text = await run('go', 'run', join(PROGRAMS, 'verify.go'), file('ca.pem'), leafFile(host), host);
    expect(text.trim()).toBe('verified 0');
  });
});

function isInstalled(program: string, ...question: string[]): boolean {
  return spawnSync(program, question, { stdio: 'ignore' }).status === 0;
}

/** What the program printed. Rejects with its complaint when it fails. */
async function run(program: string, ...options: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, options, { cwd: folder });
  return stdout;
}

function trustStore(): readonly string[] {
  return ['-keystore', file('trust.p12'), '-storetype', 'PKCS12', '-storepass', PASSWORD];
}

async function shakeHandsInJava(port: number, host: string): Promise<string> {
  const text = await run(
    'java',
    join(PROGRAMS, 'Handshake.java'),
    `${port}`,
    host,
    file('trust.p12'),
    PASSWORD,
  );
  return text.trim();
}

async function makeWithOpenssl(
  name: string,
  curve: string,
  ...options: string[]
): Promise<AuthorityMaterial> {
  const key = [
    '-newkey',
    'ec',
    '-pkeyopt',
    `ec_paramgen_curve:${curve}`,
    '-nodes',
    '-keyout',
    file(`${name}.key`),
  ];
  const subject = ['-subj', '/C=DE/O=Company/CN=Company CA', '-addext', 'keyUsage=critical,keyCertSign'];
  await run('openssl', 'req', '-x509', ...key, ...subject, ...options, '-out', file(`${name}.pem`));
  const certificatePem = await readFile(file(`${name}.pem`), 'utf8');
  return { certificatePem, privateKey: createPrivateKey(await readFile(file(`${name}.key`))) };
}

async function readExtensions(path: string): Promise<string> {
  const text = await run('openssl', 'x509', '-in', path, '-noout', '-text');
  return text.replaceAll(/\s+/g, ' ');
}

function file(name: string): string {
  return join(folder, name);
}

function leafFile(host: string): string {
  return file(`leaf-${HOSTS.indexOf(host)}.pem`);
}
