/**
 * What Java is told of the proxy and of whom to trust: it has no variables for these, only properties. It prints
 * JAVA_TOOL_OPTIONS whenever it starts, so nothing secret may ever stand in it.
 */
import type { Address } from './forward.ts';

/**
 * The value of JAVA_TOOL_OPTIONS. Of two options with one name Java takes the last: ours stand behind what was there.
 * @param proxy one that asks for no password, which Java would not show
 * @param trustStore a PKCS#12 file
 * @param inherited the value that whoever starts the workload has
 */
export function javaOptions(
  proxy: Address | null,
  trustStore: string,
  inherited: string | undefined,
): string {
  const options = [
    ...(proxy === null ? [] : proxyOptions(proxy)),
    quote(`-Djavax.net.ssl.trustStore=${trustStore}`),
    '-Djavax.net.ssl.trustStoreType=PKCS12',
    // For a program that does show a password: Java refuses Basic for tunnels by default.
    '-Djdk.http.auth.tunneling.disabledSchemes=',
  ];
  return [...(inherited ? [inherited] : []), ...options].join(' ');
}

function proxyOptions({ host, port }: Address): string[] {
  const both = ['https', 'http'].flatMap((scheme) => [
    `-D${scheme}.proxyHost=${host}`,
    `-D${scheme}.proxyPort=${port}`,
  ]);
  return [...both, `-Dhttp.nonProxyHosts=${DIRECT.join('|')}`];
}

/** Java splits the variable at white space that no quotes enclose. */
function quote(option: string): string {
  if (!/[\s'"]/.test(option)) return option;
  return option.includes("'") ? `"${option}"` : `'${option}'`;
}

/** Loopback, as Java writes it; for `https:` too. */
const DIRECT = ['localhost', '127.*', '[::1]'];
