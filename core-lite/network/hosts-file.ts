/**
 * The operator's hosts file (SALLYPORT_HOSTS_FILE), in the format of hosts(5): an address, then its names. It is read
 * once at start. It only says where a name leads: the addresses are judged like any other's.
 */
import { Fault } from '../errors.ts';
import { parseAddress } from './address.ts';
import { isHostName } from './host-name.ts';

/**
 * Name -> addresses in their order; a name may stand in several lines. Names are taken in lower case.
 * @throws Fault `config_invalid` that names every line that cannot be read. A name with `*` cannot: hosts(5) has none,
 * and one that matched nothing would be dropped silently.
 */
export function parseHostsFile(text: string): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  const faults: string[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const fault = readLine(line, hosts);
    if (fault !== null) faults.push(`line ${index + 1}: ${fault}`);
  }
  if (faults.length > 0)
    throw new Fault('config_invalid', `the hosts file cannot be read: ${faults.join('; ')}`);
  return hosts;
}

/** Adds what the line says to `hosts`, or says what is wrong with it. */
function readLine(line: string, hosts: Map<string, string[]>): string | null {
  const [first, ...names] = line
    .replace(/#.*$/, '')
    .split(/[ \t]+/)
    .filter((word) => word !== '');
  if (first === undefined) return null;
  const address = parseAddress(first);
  if (address === null) return `${JSON.stringify(first)} is not an IP address`;
  if (names.length === 0) return `${address.text} has no name`;
  for (const written of names) {
    const name = written.toLowerCase();
    if (!isHostName(name)) return `${JSON.stringify(written)} is not a host name`;
    const known = hosts.get(name) ?? [];
    if (!known.includes(address.text)) hosts.set(name, [...known, address.text]);
  }
  return null;
}
