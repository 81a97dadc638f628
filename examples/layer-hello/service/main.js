/**
 * The service of the layer: one process, started by Parley's supervisor. Its environment says where it shall listen
 * (PARLEY_LAYER_HOST, PARLEY_LAYER_PORT; 0 takes a free port) and for whom (PARLEY_LAYER, PARLEY_LAYER_DOMAIN,
 * PARLEY_PLATFORM_URL). It tells its parent when it serves, answers its heartbeats, and ends when told or left alone.
 */
import { createServer } from 'node:http';

const { env } = process;
const { PARLEY_LAYER_HOST: host = '127.0.0.1', PARLEY_LAYER_PORT: port = '0' } = env;

const server = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({ hello: env.PARLEY_LAYER_DOMAIN, layer: env.PARLEY_LAYER, version: env.PARLEY_LAYER_VERSION }),
  );
});

const end = () => {
  server.closeAllConnections();
  server.close(() => process.exit(0));
};

process.on('message', ({ type }) => {
  if (type === 'ping') process.send({ type: 'pong', rssBytes: process.memoryUsage.rss() });
  if (type === 'stop') end();
});
process.on('disconnect', end);
// Ctrl-C reaches the whole group; the parent says when.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);

server.listen(Number(port), host, () => {
  process.send?.({ type: 'ready', url: `http://${host}:${server.address().port}` });
});
