/**
 * One request by a client of Node, as people write it: fetch.ts CLIENT URL. What it does without being told is what the
 * variables made it do. Prints what came; ends as Node ends a program whose promise was rejected.
 */
import { Agent, get } from 'node:https';

const [client = '', url = ''] = process.argv.slice(2);
const { origin, host } = new URL(url);
const authorization = `Bearer ${process.env['API_KEY']}`;
const headers = { authorization };

const CLIENTS: Readonly<Record<string, () => Promise<string>>> = {
  fetch: async () => read(await fetch(url, { headers })),
  https: () =>
    new Promise((resolve, reject) => {
      get(url, { headers }, (response) => {
        response.on('data', (text) => resolve(String(text)));
      }).once('error', reject);
    }),
  undici: async () => {
    const undici = await import('undici');
    const dispatcher = new undici.EnvHttpProxyAgent();
    return (await undici.request(url, { headers, dispatcher })).body.text();
  },
  axios: async () => (await (await import('axios')).default.get(url, { headers })).data,
  openai: async () => {
    const { OpenAI } = await import('openai');
    const messages = [{ role: 'user' as const, content: 'hi' }];
    const ask = { model: 'm', messages };
    const client = new OpenAI({ baseURL: `${origin}/v1`, maxRetries: 0 });
    return String((await client.chat.completions.create(ask)).choices[0]?.message.content);
  },
  '@anthropic-ai/sdk': async () => {
    const { Anthropic } = await import('@anthropic-ai/sdk');
    const messages = [{ role: 'user' as const, content: 'hi' }];
    const client = new Anthropic({ baseURL: origin, maxRetries: 0 });
    const { content } = await client.messages.create({ model: 'm', max_tokens: 9, messages });
    return content[0]?.type === 'text' ? content[0].text : '';
  },
  gRPC: async () => {
    const grpc = await import('@grpc/grpc-js');
    const metadata = new grpc.Metadata();
    metadata.set('authorization', authorization);
    const asIs = (bytes: Buffer): Buffer => bytes;
    const stub = new grpc.Client(host, grpc.credentials.createSsl());
    return new Promise((resolve, reject) => {
      stub.makeUnaryRequest('/demo.Echo/Say', asIs, asIs, Buffer.from('hi'), metadata, (error, answer) => {
        stub.close();
        if (error) reject(error);
        else resolve(String(answer));
      });
    });
  },
  ws: async () => {
    const { WebSocket } = await import('ws');
    // Without an agent it opens its own connection, past any proxy.
    const agent = new Agent({ proxyEnv: process.env });
    return converse(new WebSocket(url.replace('https:', 'wss:'), { agent, headers }));
  },
  WebSocket: () => converse(new WebSocket(url.replace('https:', 'wss:'))),
};

async function read(response: Response): Promise<string> {
  if (!response.ok) throw new Error(`status ${response.status}`);
  return response.text();
}

interface Conversing {
  onopen: unknown;
  onmessage: unknown;
  onerror: unknown;
  send(text: string): void;
  close(): void;
}

function converse(socket: Conversing): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.onopen = () => socket.send('hello by WebSocket');
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      resolve(String(data));
      socket.close();
    };
    socket.onerror = (event: { readonly error?: Error; readonly message?: string }) =>
      reject(event.error ?? new Error(event.message));
  });
}

const run = CLIENTS[client];
if (!run) throw new Error(`there is no client ${client}`);
console.log(await run());
