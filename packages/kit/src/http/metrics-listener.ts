/** A listener of its own for `/metrics`, which asks for no credential: for a loopback address or a private network. */
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { createServer, type Listening, listen } from './server.ts';

/** Reads `host:port` (`[::1]:9464`, `:9464` for every address). Throws an Error in words. */
const readAddress = (text: string): { host: string; port: number } => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) throw new Error(`${text} must be host:port, as in 127.0.0.1:9464.`);
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
};

/** Serves `GET /metrics` at `address` until closed. */
export const startMetricsListener = async (metrics: Metrics, address: string, log: Log): Promise<Listening> => {
  const app = createServer({
    log,
    name: 'metrics',
    render: ({ status, code, message }) => ({
      status,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: { code, message },
    }),
  });
  app.get('/metrics', async (_request, reply) => {
    const { contentType, body } = await metrics.render();
    return reply.type(contentType).send(body);
  });
  const listening = await listen(app, readAddress(address));
  log.info({ url: `${listening.url}/metrics` }, 'measures are served');
  return listening;
};
