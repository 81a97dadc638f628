/** Takes the deliveries of jobs and checks their signatures; and recordings of any length to make jobs of. */

import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { testdata } from './service.ts';

export const SECRET = `whsec_${Buffer.from('a secret that only this run knows').toString('base64')}`;
const REFUSED_SHARE = 0.2;

/** A delivery whose signature is good. */
export type Received = { readonly id: string; readonly job: string; readonly status: string };

export type Receiver = {
  /** host:port */
  readonly host: string;
  readonly received: readonly Received[];
  close(): Promise<void>;
};

/** Takes deliveries, refuses now and then, checks signatures with the SDK that strangers use. */
export const startReceiver = async (random: () => number, fault: (text: string) => void): Promise<Receiver> => {
  const received: Received[] = [];
  const client = new OpenAI({ apiKey: 'none', webhookSecret: SECRET });
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const body = Buffer.concat(chunks).toString();
      try {
        const event = (await client.webhooks.unwrap(body, request.headers as Record<string, string>)) as unknown as {
          id: string;
          status: string;
        };
        // Only first attempts, so that nothing waits for the long pauses.
        if (request.headers['x-service-attempt'] === '1' && random() < REFUSED_SHARE) {
          response.writeHead(503).end();
          return;
        }
        received.push({ id: String(request.headers['webhook-id']), job: event.id, status: event.status });
        response.writeHead(204).end();
      } catch (thrown) {
        fault(`delivery refused by the SDK: ${thrown instanceof Error ? thrown.message : thrown}`);
        response.writeHead(400).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    host: `127.0.0.1:${port}`,
    received,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
};

/** The reference recording joined `times` times. */
export const joinWav = async (times: number): Promise<Blob> => {
  const wav = await readFile(testdata('audio/words.wav'));
  const at = wav.indexOf('data') + 8;
  const body = Buffer.concat(Array.from({ length: times }, () => wav.subarray(at)));
  const head = Buffer.from(wav.subarray(0, at));
  head.writeUInt32LE(body.length, at - 4);
  head.writeUInt32LE(at - 8 + body.length, 4);
  return new Blob([head, body]);
};
