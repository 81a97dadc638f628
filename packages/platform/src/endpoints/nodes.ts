/** `master/nodes`: the running processes of the installation; their log levels, and their end. */
import type { Clock } from '@parley/kit/clock.ts';
import { badRequest, cannotApply, notFound, problem } from '../codes.ts';
import { readDocument } from '../http/body.ts';
import { NODE_LOG_LEVELS, type NodeLogLevel, parseNodeLogLevel } from '../nodes/log-levels.ts';
import type { NodeCommand, Refusal } from '../nodes/messages.ts';
import { fullNameOf, type NodeFacts, toNodeItem } from '../nodes/node.ts';
import type { Nodes } from '../nodes/registry.ts';
import type { JsonSchema, RestCall, RestEndpoint } from '../rest/endpoint.ts';
import type { Engine } from '../rest/engine.ts';
import { isObject, isSame, type Json } from '../rest/json.ts';
import { applyFlat, maskOf, parseMask } from '../rest/mask.ts';
import { LIST_PARAMETERS } from '../rest/mount.ts';
import { type RawQuery, readFlag, readText } from '../rest/query.ts';
import { type ComputedFields, parseComputedQuery } from './computed.ts';

type Parts = { readonly engine: Engine; readonly nodes: Nodes; readonly clock: Clock };

const PATH = '/rest/v1/master/nodes';
const FIELDS: ComputedFields = {
  name: 'text',
  fullName: 'text',
  ipAddress: 'text',
  site: 'text',
  server: 'text',
  isSystem: 'boolean',
  type: 'text',
  dtStart: 'date',
  upTimeSec: 'number',
  status: 'text',
  maxLogLevel: 'text',
  srvIdx: 'number',
  roles: 'list',
  reason: 'text',
};
const LISTED = Object.keys(FIELDS).filter((name) => name !== 'srvIdx' && name !== 'reason');
const LIST_MASK = maskOf(LISTED, (name) => name);
const TEXT: JsonSchema = { type: 'string' };
const SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    name: TEXT,
    fullName: TEXT,
    ipAddress: TEXT,
    site: TEXT,
    server: TEXT,
    isSystem: { type: 'boolean' },
    type: { type: 'string', enum: ['role', 'supervisor'] },
    dtStart: { type: ['string', 'null'], format: 'date-time', description: 'Start or last restart.' },
    upTimeSec: { type: 'integer' },
    status: { type: 'string', enum: ['active', 'inactive'] },
    maxLogLevel: { type: 'string', enum: NODE_LOG_LEVELS },
    srvIdx: { type: 'integer', description: 'Index in the configuration; role nodes only.' },
    roles: { type: 'array', items: TEXT },
    reason: { type: 'string', description: 'Why the node does not run.' },
  },
};
const PATCH_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    maxLogLevel: { type: ['string', 'integer'], description: 'A name, or a number from 0; beyond 6 is highest.' },
    persist: { type: 'boolean', description: 'Keeps the level over a restart of the supervisor too.' },
  },
};
const RETRY_AFTER_SEC = 5;

/** The addresses of `master/nodes`. */
export const createNodesEndpoints = (parts: Parts): RestEndpoint[] => {
  const common = { access: 'route', domain: 'master', tag: 'master/nodes' } as const;
  const item = {
    ...common,
    path: `${PATH}/:name`,
    parameters: [{ name: 'name', in: 'path', description: '`name` or `fullName`.', schema: TEXT }],
  } as const;
  return [
    {
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'List the nodes',
      parameters: LIST_PARAMETERS,
      answer: { type: 'array', items: SCHEMA },
      handle: (call) => listAll(parts, call),
    },
    { ...item, method: 'GET', summary: 'One node', answer: SCHEMA, handle: (call) => readOne(parts, call) },
    {
      ...item,
      method: 'PATCH',
      summary: 'Set the log level of a node',
      body: PATCH_SCHEMA,
      answer: SCHEMA,
      handle: (call) => patchOne(parts, call),
    },
    {
      ...item,
      method: 'DELETE',
      summary: 'End a node; its supervisor starts it again',
      status: 204,
      handle: (call) => endOne(parts, call),
    },
  ];
};

const listAll = ({ engine, nodes, clock }: Parts, { request, reply }: RestCall): unknown => {
  const query = parseComputedQuery(engine, request.query as RawQuery, FIELDS, 'fullName');
  if (query.isClamped) reply.header('x-limit-applied', String(query.limit));
  const found = nodes
    .list()
    .map((facts): Json => ({ ...toNodeItem(facts, clock.now()) }))
    .filter((item) => query.filter.test(item));
  if (query.isCount) return { count: found.length };
  const mask = query.mask ?? LIST_MASK;
  return found
    .sort(query.order.compare)
    .slice(query.offset, query.offset + query.limit)
    .map((item) => applyFlat(mask.apply(item), query.isFlat));
};

const readOne = (parts: Parts, call: RestCall): Json => {
  const query = call.request.query as RawQuery;
  const mask = parseMask(readText(query, 'mask'), (name) => name);
  const isFlat = readFlag(query, 'flat');
  const item: Json = { ...toNodeItem(factsOf(parts, call), parts.clock.now()) };
  return applyFlat(mask ? mask.apply(item) : item, isFlat);
};

/** By full name, else the first of that short name. */
const factsOf = ({ nodes }: Parts, call: RestCall): NodeFacts => {
  const { name } = call.request.params as { name?: string };
  const all = nodes.list();
  const found = all.find((facts) => fullNameOf(facts) === name) ?? all.find((facts) => facts.name === name);
  if (!found) throw notFound();
  return found;
};

const patchOne = async (parts: Parts, call: RestCall): Promise<Json> => {
  const body = await readDocument(call.request, 'patch');
  if (!isObject(body)) throw badRequest('body', 'must be an object');
  const { maxLogLevel, persist, ...others } = body;
  const level = readLevel(maxLogLevel);
  if (persist !== undefined && typeof persist !== 'boolean') throw badRequest('persist', 'must be true or false');
  const facts = factsOf(parts, call);
  keepOthers(others, { ...toNodeItem(facts, parts.clock.now()) });
  if (level === 'unknown') throw cannotApply('maxLogLevel', `must be a number or one of ${NODE_LOG_LEVELS.join(', ')}`);
  const isChange = level !== undefined && (level !== facts.logLevel || persist === true);
  if (isChange) {
    await carryOut(parts, { do: 'set-level', node: fullNameOf(facts), level, persist: persist === true });
  }
  return { ...toNodeItem(factsOf(parts, call), parts.clock.now()) };
};

const readLevel = (given: unknown): NodeLogLevel | 'unknown' | undefined => {
  if (given === undefined) return undefined;
  if (typeof given !== 'string' && typeof given !== 'number')
    throw badRequest('maxLogLevel', 'must be a name or number');
  return parseNodeLogLevel(given) ?? 'unknown';
};

/** What is sent back as it was read is fine; the time since the start has moved on meanwhile. */
const keepOthers = ({ upTimeSec: _moving, ...others }: Json, item: Json): void => {
  for (const [name, value] of Object.entries(others)) {
    if (!isSame(value, item[name])) throw cannotApply(name, 'cannot be changed');
  }
};

const endOne = async (parts: Parts, call: RestCall): Promise<unknown> => {
  const node = fullNameOf(factsOf(parts, call));
  await carryOut(parts, { do: 'end', node });
  // The next request on this connection would meet its end.
  if (node === parts.nodes.self()) call.reply.header('connection', 'close');
  return call.reply.code(204).send();
};

const carryOut = async ({ nodes }: Parts, command: NodeCommand): Promise<void> => {
  const refused = await nodes.command(command);
  if (refused !== undefined) throw toProblem(refused);
};

const toProblem = (refused: Refusal): Error => {
  if (refused === 'unknown') return notFound();
  if (refused === 'not-supervised') return cannotApply('name', 'nothing would start it again');
  return problem('unavailable', { message: 'The server of the node does not answer', retryAfterSec: RETRY_AFTER_SEC });
};
