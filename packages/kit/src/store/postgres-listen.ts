/**
 * The ear of the PostgreSQL driver: one connection that listens for "this domain changed" and rings the bell. When it
 * is lost it comes back after a growing pause and rings for all domains, since nothing is kept for who does not listen.
 */
import pg from 'pg';
import type { Log } from '../log.ts';
import type { Bell } from './feed.ts';
import { cutConnection } from './postgres-connection.ts';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2000;

/** Starts listening; the returned function ends it. */
export const startListening = (config: pg.ClientConfig, bell: Bell, log: Log): (() => Promise<void>) => {
  const stop = new AbortController();
  const { signal } = stop;

  /** One life of the connection; resolves when it is over. */
  const listen = async (onReady: () => void): Promise<void> => {
    const client = new pg.Client(config);
    const isOver = new Promise<void>((resolve) => {
      client.once('end', resolve);
    });
    client.on('error', (error) => log.warn({ code: (error as { code?: string }).code }, 'feed connection lost'));
    const destroy = (): void => cutConnection(client);
    signal.addEventListener('abort', destroy);
    try {
      client.on('notification', ({ payload }) => bell.ring(payload));
      await client.connect();
      await client.query('LISTEN parley_feed');
      onReady();
      bell.ring();
      await isOver;
    } finally {
      signal.removeEventListener('abort', destroy);
      destroy();
    }
  };

  const keepListening = async (): Promise<void> => {
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      try {
        await listen(() => {
          pauseMs = FIRST_PAUSE_MS;
        });
      } catch (error) {
        if (!signal.aborted) log.warn({ code: (error as { code?: string }).code }, 'feed cannot be followed');
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, pauseMs);
        function done(): void {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          resolve();
        }
        signal.addEventListener('abort', done);
        if (signal.aborted) done();
      });
      pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
    }
  };

  const running = keepListening();
  return async () => {
    stop.abort();
    await running;
  };
};
