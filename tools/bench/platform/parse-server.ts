/**
 * Parse Server as its guide sets it up, on PostgreSQL. `argv[2]`: the folder it is installed in; `argv[3]`: the URL of a
 * database; `argv[4]`: its master key.
 */
import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

type App = { use(path: string, app: unknown): void; listen(port: number, host: string, ready: () => void): Server };
type ParseServer = { start(): Promise<void>; readonly app: unknown };

const [, , folder = '', databaseURI = '', masterKey = ''] = process.argv;
/** What is installed there, not here. */
const load = createRequire(join(folder, 'package.json'));
const express: () => App = load('express');
const { ParseServer: Server_ }: { ParseServer: new (options: object) => ParseServer } = load('parse-server');

const app = express();
const server = app.listen(0, '127.0.0.1', () => void start());
const start = async (): Promise<void> => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const parse = new Server_({
    databaseURI,
    appId: 'bench',
    masterKey,
    serverURL: `${url}/parse`,
    silent: true,
    logLevel: 'error',
    logsFolder: null,
    allowCustomObjectId: true,
    allowClientClassCreation: true,
  });
  await parse.start();
  app.use('/parse', parse.app);
  process.send?.({ type: 'ready', url });
};
server.keepAliveTimeout = 60_000;
process.on('message', () => process.exit());
process.on('disconnect', () => process.exit());
