/** `user/avatar`: a small picture of oneself. The file lies among the attachments; what `user/info` shows of it in `opts.avatar`. */
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { notFound, problem } from '../codes.ts';
import type { Caller, User } from '../domains/types.ts';
import { openUpload } from '../http/body.ts';
import { sendFile } from '../http/reply.ts';
import { openNamed } from '../model/file-turns.ts';
import type { FilePlace } from '../model/files.ts';
import type { Model } from '../model/model.ts';
import { callerOf, type RestCall, type RestEndpoint } from '../rest/endpoint.ts';
import { type Engine, memoryOf } from '../rest/engine.ts';
import { isObject, type Json } from '../rest/json.ts';
import { type RawQuery, readFlag } from '../rest/query.ts';
import type { Resource } from '../rest/resource.ts';
import { readOwnAccount } from './own-account.ts';

type Parts = { readonly engine: Engine; readonly users: Resource; readonly model: Pick<Model, 'files' | 'turns'> };

export type Avatar = { readonly name: string; readonly size: number; readonly mtime: string; readonly hasha: string };

const PATH = '/rest/v1/user/avatar';
const MAX_BYTES = 1_048_576;
const DIGEST = /^[0-9a-f]{32}$/;
const MAX_NAME = 255;

const isAt = (bytes: Buffer, offset: number, latin1: string): boolean =>
  bytes.toString('latin1', offset, offset + latin1.length) === latin1;

/** Media type by the first bytes: what a client calls it does not count. */
const typeOf = (bytes: Buffer): string | undefined => {
  if (isAt(bytes, 0, '\x89PNG\r\n\x1a\n')) return 'image/png';
  if (isAt(bytes, 0, '\xff\xd8\xff')) return 'image/jpeg';
  if (isAt(bytes, 0, 'RIFF') && isAt(bytes, 8, 'WEBP')) return 'image/webp';
  return undefined;
};

/** What the account says of its picture; `opts` is open to whoever may write it, so that it is looked at closely. */
export const avatarOf = (user: User): Avatar | undefined => {
  const { avatar } = user.opts;
  if (!isObject(avatar)) return undefined;
  const { name, size, mtime, hasha } = avatar;
  const isSound = typeof name === 'string' && typeof size === 'number' && typeof mtime === 'string';
  return isSound && typeof hasha === 'string' && DIGEST.test(hasha) ? { name, size, mtime, hasha } : undefined;
};

const ownAvatar = async (caller: Caller): Promise<Avatar | undefined> => avatarOf(await readOwnAccount(caller));

const placeOf = ({ home, userId }: Caller): FilePlace => ({
  domain: home.name,
  classId: 'user',
  id: userId,
  property: 'avatar',
});

const readBytes = async (request: FastifyRequest): Promise<{ bytes: Buffer; name: string }> => {
  const { stream, name = '' } = await openUpload(request, MAX_BYTES);
  const pieces: Buffer[] = [];
  for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece);
  return { bytes: Buffer.concat(pieces), name: name.slice(0, MAX_NAME) };
};

/** Writes `opts.avatar`; undefined takes it away. */
const note = async ({ engine, users }: Parts, caller: Caller, avatar: Avatar | undefined): Promise<void> => {
  await engine.writer.write({
    resource: users,
    domain: memoryOf(engine, caller.home),
    caller,
    id: caller.userId,
    mode: 'patch',
    body: {},
    form: (previous) => {
      if (!previous) throw notFound();
      const { avatar: _old, ...opts } = previous.opts as Json;
      return { ...previous, opts: avatar ? { ...opts, avatar } : opts };
    },
  });
};

const place =
  (parts: Parts) =>
  async (call: RestCall): Promise<Avatar> => {
    const caller = callerOf(call);
    const { bytes, name } = await readBytes(call.request);
    const type = typeOf(bytes);
    if (type === undefined) {
      throw problem('unsupported_media_type', { details: { allowed: ['image/png', 'image/jpeg', 'image/webp'] } });
    }
    const { files, turns } = parts.model;
    await using staged = await files.stage(placeOf(caller), Readable.from([bytes]), type);
    const { size, md5 } = staged;
    const facts = { name: name || `avatar.${type.slice('image/'.length)}`, size, hasha: md5 };
    return await turns.take(placeOf(caller), async () => {
      const before = await ownAvatar(caller);
      await staged.place();
      const avatar = { ...facts, mtime: new Date().toISOString() };
      await note(parts, caller, avatar);
      if (before && before.hasha !== md5) await turns.removeOld(files, placeOf(caller), before.hasha);
      return avatar;
    });
  };

const show =
  ({ model: { files } }: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const caller = callerOf(call);
    const found = await openNamed(files, placeOf(caller), async () => {
      const avatar = await ownAvatar(caller);
      return avatar && { name: avatar.name, md5: avatar.hasha };
    });
    if (!found) throw notFound();
    const pieces: Buffer[] = [];
    for await (const piece of found.stream as AsyncIterable<Buffer>) pieces.push(piece);
    const bytes = Buffer.concat(pieces);
    const file = { stream: Readable.from([bytes]), sizeBytes: bytes.length, name: found.info.name };
    const asAttachment = readFlag(call.request.query as RawQuery, 'attachment');
    return sendFile(call.reply, { ...file, type: typeOf(bytes) ?? 'application/octet-stream' }, asAttachment);
  };

const takeAway =
  (parts: Parts) =>
  async (call: RestCall): Promise<unknown> => {
    const caller = callerOf(call);
    const { files, turns } = parts.model;
    await turns.take(placeOf(caller), async () => {
      const avatar = await ownAvatar(caller);
      if (!avatar) throw notFound();
      await note(parts, caller, undefined);
      await turns.removeOld(files, placeOf(caller), avatar.hasha);
    });
    return call.reply.code(204).send();
  };

export const createAvatarEndpoints = (parts: Parts): RestEndpoint[] => {
  const common = { path: PATH, access: 'signed-in', tag: 'user' } as const;
  const answer = { type: 'object', properties: { name: { type: 'string' }, size: { type: 'integer' } } };
  return [
    { ...common, method: 'GET', summary: 'The own picture', handle: show(parts) },
    {
      ...common,
      method: 'PUT',
      summary: 'Place the own picture: PNG, JPEG or WebP up to 1 MiB',
      answer,
      handle: place(parts),
    },
    { ...common, method: 'DELETE', summary: 'Take the own picture away', status: 204, handle: takeAway(parts) },
  ];
};
