/**
 * `GET /v1/realtime`: everything that can be refused is refused in an ordinary answer, before the socket is opened.
 * Differences from the hosted API: only transcription sessions; `model` may be a streaming or an offline model;
 * audio may also come as binary frames; what has no effect is said in `service.warning`.
 */
import type { Call } from '@parley/kit/http/endpoint.ts';
import { drainingOf } from '@parley/kit/http/server.ts';
import { problem } from '../../core/codes.ts';
import type { Caller, Warning } from '../../core/types.ts';
import type { DialectParts, SpeechEndpoint } from '../dialect.ts';
import { aliasOf } from './models.ts';
import { createDialogue } from './realtime-dialogue.ts';
import { runSocket } from './realtime-socket.ts';

/** The largest message the hosted API takes. */
const MAX_MESSAGE_BYTES = 15 * 2 ** 20;
/** Names of protocols that are agreed on; those that carry a key are read by the guard and never sent back. */
const PROTOCOLS = ['realtime', 'openai-beta.realtime-v1'];
const MAX_NAME_CHARS = 130;

export const realtimeEndpoint = (parts: DialectParts): SpeechEndpoint => ({
  method: 'GET',
  path: '/v1/realtime',
  access: 'key',
  tag: 'compat',
  summary: 'Transcribe live over a WebSocket',
  description:
    'A WebSocket with the events of the OpenAI realtime transcription API. Browsers, which send no header, give the ' +
    'key as the subprotocol `openai-insecure-api-key.KEY` beside `realtime`.',
  handle: (call) => connect(parts, call),
});

const connect = async (parts: DialectParts, call: Call<Caller>): Promise<void> => {
  const { request, reply, caller, signal } = call;
  const { realtime } = parts.speech;
  const query = request.query as Readonly<Record<string, unknown>>;
  const asked = readQuery(query);
  const { model, warnings } = await resolveAlias(parts, asked.model);
  if (model !== undefined) await realtime.resolve(caller, model);
  if (!parts.sockets.isUpgrade(request)) {
    reply.header('upgrade', 'websocket');
    throw problem('upgrade_required', 'This address speaks WebSocket only.');
  }
  const place = await realtime.reserve(caller, { model, finalModel: asked.finalModel }, signal);
  try {
    const socket = await parts.sockets.upgrade(request, reply, {
      maxMessageBytes: MAX_MESSAGE_BYTES,
      protocols: PROTOCOLS,
    });
    await runSocket({
      socket,
      place,
      limits: realtime.limits,
      draining: drainingOf(request.server).signal,
      log: request.log.child({ requestId: request.id }),
      gaEvents: parts.gaEvents,
      createDialogue: (session, { send, onAudio, nowMs }) =>
        createDialogue({
          session,
          send,
          onAudio,
          gaEvents: parts.gaEvents,
          limits: realtime.limits,
          active: realtime.active,
          expiresAt: Math.floor((nowMs + (realtime.limits.maxSessionMs || FAR_MS)) / 1000),
          resolveAlias: (name) => resolveAlias(parts, name),
          finalModel: asked.finalModel,
          warnings,
        }),
    });
  } finally {
    await place[Symbol.asyncDispose]();
  }
};

/** Where sessions never expire, something must stand all the same. */
const FAR_MS = 365 * 86_400_000;

const readQuery = (query: Readonly<Record<string, unknown>>) => {
  if (query.intent !== undefined && query.intent !== 'transcription') {
    throw problem('invalid_request', 'Only intent=transcription is had here.', { param: 'intent' });
  }
  if (query.call_id !== undefined) throw problem('invalid_request', 'There are no calls here.', { param: 'call_id' });
  return { model: readName(query, 'model'), finalModel: readName(query, 'final_model') };
};

const readName = (query: Readonly<Record<string, unknown>>, param: string): string | undefined => {
  const value = query[param];
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string' && value.length <= MAX_NAME_CHARS) return value;
  throw problem('invalid_request', `${param} is one name.`, { param });
};

/** What a model name stands for, with a word about it when it is not the model's own. */
const resolveAlias = async (
  parts: DialectParts,
  name: string | undefined,
): Promise<{ model: string | undefined; warnings: readonly Warning[] }> => {
  const target = name === undefined ? undefined : aliasOf(parts, name);
  if (name === undefined || target === undefined) return { model: name, warnings: [] };
  // An installed model goes before an alias of its name.
  if ((await parts.speech.models.list()).some(({ id }) => id === name)) return { model: name, warnings: [] };
  const message = `${name} stands for ${target.model ?? 'the default model'} here.`;
  return { model: target.model, warnings: [{ code: 'model_alias_applied', message, param: 'model' }] };
};
