/** A server on loopback whose answers come of a function from a web request to a web response, as the MCP SDK has it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';

export type Answers = (request: Request) => Promise<Response>;

/** Answers one request of Node's; whoever leaves aborts the web request. */
export async function answerAs(
  answers: Answers,
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): Promise<void> {
  const leave = new AbortController();
  response.once('close', () => leave.abort());
  const { method = 'GET', url = '/' } = request;
  const headers = new Headers(request.headers as Record<string, string>);
  const init = { method, headers, signal: leave.signal, ...(body === '' ? {} : { body }) };
  const answer = await answers(new Request(`http://127.0.0.1${url}`, init));
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  // An answer whose first event is long in coming has begun all the same.
  response.flushHeaders();
  for await (const chunk of answer.body ?? []) response.write(chunk);
  response.end();
}

/** @param port 0 for a free one */
export async function serveWeb(answers: Answers, port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      answerAs(answers, request, response, Buffer.concat(chunks).toString()).catch(() => response.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { server, port: (server.address() as { port: number }).port };
}
