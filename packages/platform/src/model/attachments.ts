/** PUT, GET and DELETE of a file attached to an item. */
import { badRequest, notFound } from '../codes.ts';
import { openUpload } from '../http/body.ts';
import { sendFile } from '../http/reply.ts';
import type { RestCall } from '../rest/endpoint.ts';
import { sendJson } from '../rest/engine.ts';
import { isObject } from '../rest/json.ts';
import { type RawQuery, readFlag, readText } from '../rest/query.ts';
import { openNamed } from './file-turns.ts';
import type { FileInfo } from './files.ts';
import { etagOfItem, showItem } from './items.ts';
import type { Model } from './model.ts';
import type { Place } from './place.ts';

const MAX_NAME = 255;
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/;

const placeOf = ({ domain, model, id, property }: Place) => ({
  domain: domain.name,
  classId: model.id,
  id: id!,
  property: property!,
});

const filesAt = (model: Model, place: Place) => model.filesOf(place.domain, place.model);

const infoOf = (value: unknown): FileInfo | undefined => (isObject(value) ? (value as unknown as FileInfo) : undefined);

export const putAttachment = async (model: Model, call: RestCall, place: Place): Promise<unknown> => {
  const write = { domain: place.domain, model: place.model, id: place.id!, ifMatch: call.request.headers['if-match'] };
  if (!(await model.items.read(place.domain, place.model, place.id!))) throw notFound();
  const upload = await openUpload(call.request, model.maxFileBytes);
  const facts = { name: nameOf(call, upload.name, place.property!), type: typeOf(upload.type) };
  const files = filesAt(model, place);
  await using staged = await files.stage(placeOf(place), upload.stream, facts.type);
  const { size, md5 } = staged;
  const info: FileInfo = { name: facts.name, size, md5, type: facts.type };
  const item = await model.turns.take(placeOf(place), async () => {
    const before = await model.items.read(place.domain, place.model, place.id!);
    if (!before) throw notFound();
    await staged.place();
    const after = await model.items.set(write, place.property!, info);
    const old = infoOf(before[place.property!]);
    if (old && old.md5 !== md5) await model.turns.removeOld(files, placeOf(place), old.md5);
    return after;
  });
  return sendJson(call.reply.header('etag', etagOfItem(item)), JSON.stringify(showItem(place.model, item)));
};

/** The name of the part, else of the query, else of the property. */
const nameOf = (call: RestCall, given: string | undefined, property: string): string => {
  const name = given ?? readText(call.request.query as RawQuery, 'name') ?? property;
  const base = name.split(/[\\/]/).at(-1)!.toWellFormed().replaceAll('\0', '');
  if (base === '') throw badRequest('name', 'must name a file');
  return base.slice(0, MAX_NAME);
};

const typeOf = (type: string): string => (MEDIA_TYPE.test(type) ? type : 'application/octet-stream');

export const getAttachment = async (model: Model, call: RestCall, place: Place): Promise<unknown> => {
  const asAttachment = readFlag(call.request.query as RawQuery, 'attachment');
  const found = await openNamed(filesAt(model, place), placeOf(place), async () => {
    const item = await model.items.read(place.domain, place.model, place.id!);
    return infoOf(item?.[place.property!]);
  });
  if (!found) throw notFound();
  const { info, stream } = found;
  call.reply.header('etag', `"${info.md5}"`);
  return sendFile(call.reply, { stream, sizeBytes: info.size, name: info.name, type: typeByName(info) }, asAttachment);
};

const BY_EXTENSION: Readonly<Record<string, string>> = {
  json: 'application/json',
  txt: 'text/plain; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
  xml: 'application/xml',
  pdf: 'application/pdf',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  mp4: 'video/mp4',
  zip: 'application/zip',
};

/** By the file's extension, else by what was said when it came. */
const typeByName = ({ name, type }: FileInfo): string => {
  const extension = /\.([a-z0-9]{1,8})$/i.exec(name)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(BY_EXTENSION, extension) ? BY_EXTENSION[extension]! : type;
};

export const removeAttachment = (model: Model, call: RestCall, place: Place): Promise<unknown> =>
  model.turns.take(placeOf(place), async () => {
    const item = await model.items.read(place.domain, place.model, place.id!);
    const info = infoOf(item?.[place.property!]);
    if (!info) throw notFound();
    const ifMatch = call.request.headers['if-match'];
    const write = { domain: place.domain, model: place.model, id: place.id!, ifMatch };
    await model.items.set(write, place.property!, undefined);
    await model.turns.removeOld(filesAt(model, place), placeOf(place), info.md5);
    return call.reply.code(204).send();
  });
