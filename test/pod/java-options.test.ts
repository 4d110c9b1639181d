/** What Java is told, as the text that it prints at every start. */
import { describe, expect, it } from 'vitest';
import { javaOptions } from '../../pod/java-options.ts';

const PROXY = { host: '127.0.0.1', port: 4323 };

describe('the options of Java', () => {
  it('name proxy and trust, behind what was there', () => {
    expect(javaOptions(PROXY, '/t/trust.p12', '-Xmx1g')).toBe(
      '-Xmx1g -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=4323 -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=4323 ' +
        '-Dhttp.nonProxyHosts=localhost|127.*|[::1] -Djavax.net.ssl.trustStore=/t/trust.p12 ' +
        '-Djavax.net.ssl.trustStoreType=PKCS12 -Djdk.http.auth.tunneling.disabledSchemes=',
    );
  });

  it('name no proxy where none asks for no password', () => {
    expect(javaOptions(null, '/t/trust.p12', undefined)).toMatch(
      /^-Djavax\.net\.ssl\.trustStore=\/t\/trust\.p12 /,
    );
  });

  it.each([
    ['/a b/trust.p12', `'-Djavax.net.ssl.trustStore=/a b/trust.p12'`],
    [`/it's/trust.p12`, `"-Djavax.net.ssl.trustStore=/it's/trust.p12"`],
  ])('keep %s in one piece', (path, written) => {
    expect(javaOptions(null, path, undefined)).toContain(written);
  });
});
