/** Follows the events of a job to the last one, over broken connections, as a page would. */
import { judge, judgeCut } from './client.ts';
import type { KeptJob } from './ledger.ts';
import { type LoadContext, pause } from './load.ts';
import { KEY } from './stage.ts';

export const TERMINAL: readonly string[] = ['succeeded', 'failed', 'canceled', 'expired'];
const RETRY_MS = 300;

/** What must not happen, whatever breaks. */
class WrongOrder extends Error {}

type Place = { lastId: string; status: string | undefined };

/** Number and part of an id such as `7.2`. */
const numbersOf = (id: string): readonly [number, number] => {
  const [state = 0, part = 0] = id.split('.').map(Number);
  return [state, part];
};

const isAfter = (id: string, before: string): boolean => {
  const [[state, part], [stateBefore, partBefore]] = [numbersOf(id), numbersOf(before)];
  return state > stateBefore || (state === stateBefore && part > partBefore);
};

const hear = (message: string, place: Place): void => {
  const id = /^id: (.*)$/m.exec(message)?.[1];
  const event = /^event: (.*)$/m.exec(message)?.[1];
  if (id === undefined || event === undefined) return;
  if (place.lastId !== '' && !isAfter(id, place.lastId)) throw new WrongOrder(`event ${id} came after ${place.lastId}`);
  place.lastId = id;
  if (TERMINAL.includes(event)) place.status = event;
};

const readTo = async (response: Response, place: Place): Promise<void> => {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
      hear(text.slice(0, at), place);
      text = text.slice(at + 2);
    }
  }
};

const WHAT = 'speech job events';

/** One connection, to its end; throws when it broke or told what it must not. */
const listen = async ({ stage, ledger, signal }: LoadContext, job: KeptJob, place: Place): Promise<void> => {
  const response = await fetch(`${stage.speechUrl}/api/v1/jobs/${job.id}/events?segments=true`, {
    headers: { authorization: `Bearer ${KEY}`, ...(place.lastId === '' ? {} : { 'last-event-id': place.lastId }) },
    signal,
  });
  const { status, headers } = response;
  if (status !== 200) {
    judge(ledger, WHAT, { status, headers, body: await response.text() }, []);
    return;
  }
  await readTo(response, place);
  if (place.status === undefined) throw new Error('it ended before the job');
};

/** Until the job is over or the load is; what it came to is noted with the job. */
export const followJob = async (context: LoadContext, job: KeptJob): Promise<void> => {
  const { ledger, signal } = context;
  const place: Place = { lastId: '', status: undefined };
  while (!signal.aborted && place.status === undefined) {
    const begunMs = performance.now();
    try {
      await listen(context, job, place);
    } catch (thrown) {
      if (signal.aborted) ledger.count(WHAT, 'left');
      else if (thrown instanceof WrongOrder) ledger.fault(`${WHAT}: ${thrown.message}`);
      else judgeCut(ledger, WHAT, begunMs, thrown);
    }
    if (place.status === undefined) await pause(RETRY_MS, signal);
  }
  if (place.status === undefined) return;
  job.status = place.status;
  job.isFollowed = true;
  ledger.count(WHAT, 'done');
};
