/**
 * A DNS server for tests: real UDP on loopback, scripted answers. Each name has a list of steps; the n-th question of
 * a type gets the n-th step, and the last one for ever. It answers what it is told, however wrong that is.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { parseAddress } from '../../core-lite/network/address.ts';

type DnsFailure = 'nxdomain' | 'nodata' | 'servfail' | 'refused' | 'silence';

interface DnsRecords {
  /** Addresses of the family, or how its question fails; `nodata` when absent. */
  readonly a?: readonly string[] | DnsFailure;
  readonly aaaa?: readonly string[] | DnsFailure;
  /** Aliases between the name and its addresses, in order. */
  readonly via?: readonly string[];
  /** Seconds; 60 when absent. */
  readonly ttl?: number;
}

type DnsStep = DnsFailure | DnsRecords;

/** Name, or `*.suffix` for every name below, to its steps. A name that is not there is `nxdomain`. */
export type DnsTable = Readonly<Record<string, DnsStep | readonly DnsStep[]>>;

interface DnsLookup {
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'other';
}

export interface DnsServer {
  /** `address:port`, as SALLYPORT_DNS_SERVERS takes it. */
  readonly address: string;
  /** Every question so far, in order. */
  readonly lookups: readonly DnsLookup[];
  close(): Promise<void>;
}

export async function startDnsServer(table: DnsTable): Promise<DnsServer> {
  const socket = createSocket('udp4');
  const lookups: DnsLookup[] = [];
  socket.on('message', (message, from) => answer(socket, message, from, table, lookups));
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    lookups,
    close: () => new Promise((resolve) => socket.close(resolve)),
  };
}

function answer(
  socket: Socket,
  message: Buffer,
  from: RemoteInfo,
  table: DnsTable,
  lookups: DnsLookup[],
): void {
  const question = readQuestion(message);
  const { name, type } = question;
  const turn = lookups.filter((lookup) => lookup.name === name && lookup.type === type).length;
  lookups.push({ name, type });
  const step = stepFor(table, name, turn);
  const reply = typeof step === 'string' ? step : familyOf(step, type);
  if (reply === 'silence') return;
  const records = typeof reply === 'string' || typeof step === 'string' ? [] : chainOf(name, step, reply);
  const header = Buffer.from(message.subarray(0, 12));
  header.writeUInt16BE(0x8180 | (typeof reply === 'string' ? RCODES[reply] : 0), 2);
  header.writeUInt16BE(records.length, 6);
  header.writeUInt32BE(0, 8);
  socket.send(Buffer.concat([header, question.bytes, ...records]), from.port, from.address);
}

function stepFor(table: DnsTable, name: string, turn: number): DnsStep {
  const suffix = Object.keys(table).find((key) => key.startsWith('*.') && name.endsWith(key.slice(1)));
  const steps = table[name] ?? (suffix === undefined ? undefined : table[suffix]) ?? 'nxdomain';
  const list: readonly DnsStep[] = typeof steps === 'string' || !('at' in steps) ? [steps] : steps;
  return list.at(Math.min(turn, list.length - 1)) ?? 'nodata';
}

function familyOf(step: DnsRecords, type: DnsLookup['type']): readonly string[] | DnsFailure {
  if (type === 'other') return 'nodata';
  return (type === 'A' ? step.a : step.aaaa) ?? 'nodata';
}

/** The aliases, each pointing to the next, and the addresses under the last. */
function chainOf(
  name: string,
  { via = [], ttl = 60 }: DnsRecords,
  addresses: readonly string[],
): readonly Buffer[] {
  const owners = [name, ...via];
  const aliases = via.map((alias, index) => record(owners[index] ?? name, CNAME, ttl, nameBytes(alias)));
  const last = owners.at(-1) ?? name;
  return [...aliases, ...addresses.map((text) => addressRecord(last, ttl, text))];
}

function addressRecord(owner: string, ttl: number, text: string): Buffer {
  const address = parseAddress(text);
  if (address === null) throw new TypeError(`the table has a bad address: ${text}`);
  return record(owner, address.family === 4 ? A : AAAA, ttl, Buffer.from(address.bytes));
}

function record(owner: string, type: number, ttl: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(IN, 2);
  fixed.writeUInt32BE(ttl, 4);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(owner), fixed, data]);
}

function nameBytes(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

/** The first question; what follows it (EDNS) is not read. */
function readQuestion(message: Buffer): DnsLookup & { readonly bytes: Buffer } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const type = message.readUInt16BE(at + 1);
  const bytes = message.subarray(12, at + 5);
  return {
    name: labels.join('.').toLowerCase(),
    type: type === A ? 'A' : type === AAAA ? 'AAAA' : 'other',
    bytes,
  };
}

const A = 1;
const CNAME = 5;
const AAAA = 28;
const IN = 1;
const RCODES: Readonly<Record<DnsFailure, number>> = {
  nodata: 0,
  servfail: 2,
  nxdomain: 3,
  refused: 5,
  silence: 0,
};
