/** A script's objects as a graph: where each leads, changed by drawing, and where those stand that nobody placed. Pure. */
import { isObject, type Json } from '../data/schema.ts';
import { type ElementType, type Keys, type ScriptObject, START_TYPE } from './declared.ts';

/** `path`: `transfer`, `transfer_bad`, `cases[0].transfer`. `to` 0 or absent is the end. */
export type Transfer = { readonly path: string; readonly to: number };

export type TypesById = ReadonlyMap<number, ElementType>;

const numberOf = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Every way an object leads on, also those that lead nowhere yet. */
export const transfersOf = (object: Json, keys: Keys, prefix = ''): Transfer[] =>
  Object.entries(keys).flatMap(([name, key]): Transfer[] => {
    const value = object[name];
    if (key.kind === 'transfer') return [{ path: prefix + name, to: numberOf(value) }];
    if (key.kind !== 'list' || !Array.isArray(value)) return [];
    return value.flatMap((item, at) =>
      isObject(item) ? transfersOf(item, key.items ?? {}, `${prefix}${name}[${at}].`) : [],
    );
  });

const IN_LIST = /^([^[.]+)\[(\d+)\]\.(.+)$/;

/** A copy in which the path leads to the object (0: to the end); undefined takes the transfer away, which some elements know. */
export const withTransfer = <T extends Json>(object: T, path: string, to: number | undefined): T => {
  const [, list, at, rest] = IN_LIST.exec(path) ?? [];
  if (list !== undefined && rest !== undefined) {
    const items = Array.isArray(object[list]) ? (object[list] as unknown[]) : [];
    const changed = items.map((item, index) =>
      index === Number(at) && isObject(item) ? withTransfer(item, rest, to) : item,
    );
    return { ...object, [list]: changed };
  }
  if (to !== undefined) return { ...object, [path]: to };
  const { [path]: _gone, ...kept } = object;
  return kept as T;
};

/** Without the object, and without what led to it. */
export const withoutObject = (objects: readonly ScriptObject[], oId: number, types: TypesById): ScriptObject[] =>
  objects
    .filter((object) => object.oId !== oId)
    .map((object) =>
      transfersOf(object, types.get(object.oType)?.keys ?? {})
        .filter(({ to }) => to === oId)
        .reduce((changed, { path }) => withTransfer(changed, path, undefined), object),
    );

export type Point = { readonly x: number; readonly y: number };

export const NODE_WIDTH = 220;
const COLUMN_PX = NODE_WIDTH + 90;
const HEAD_PX = 58;
const TRANSFER_PX = 26;
const GAP_PX = 28;

export const heightOf = (object: ScriptObject, type: ElementType | undefined): number =>
  HEAD_PX + TRANSFER_PX * transfersOf(object, type?.keys ?? {}).length;

const isPlaced = ({ oLeft, oTop }: Json): boolean => typeof oLeft === 'number' && typeof oTop === 'number';

/** Places for all: those that were given, else in columns by how many steps they are from the start. */
export const placesOf = (objects: readonly ScriptObject[], types: TypesById): ReadonlyMap<number, Point> => {
  const given = objects.filter(isPlaced);
  const places = new Map(given.map(({ oId, oLeft, oTop }) => [oId, { x: Number(oLeft), y: Number(oTop) }]));
  const taken = given.map((object) => ({
    ...places.get(object.oId)!,
    height: heightOf(object, types.get(object.oType)),
  }));
  const unplaced = objects.filter((object) => !isPlaced(object));
  const columnOf = columnsOf(objects, types);
  const tops = bandTopsOf(unplaced, types, columnOf);
  for (const object of unplaced) {
    const height = heightOf(object, types.get(object.oType));
    const column = columnOf.get(object.oId) ?? 0;
    const y = tops[Math.floor(column / COLUMNS_IN_BAND)] ?? 0;
    const place = freePlace({ x: (column % COLUMNS_IN_BAND) * COLUMN_PX, y }, height, taken);
    places.set(object.oId, place);
    taken.push({ ...place, height });
  }
  return places;
};

/** Long chains go on in a band below, so that a screen holds them in letters that can be read. */
const COLUMNS_IN_BAND = 5;
const BAND_GAP_PX = 60;

/** Where each band begins: below the highest column of the one before. */
const bandTopsOf = (
  objects: readonly ScriptObject[],
  types: TypesById,
  columnOf: ReadonlyMap<number, number>,
): readonly number[] => {
  const heights = new Map<number, number>();
  for (const object of objects) {
    const column = columnOf.get(object.oId) ?? 0;
    heights.set(column, (heights.get(column) ?? 0) + heightOf(object, types.get(object.oType)) + GAP_PX);
  }
  const bands = Math.floor(Math.max(0, ...heights.keys()) / COLUMNS_IN_BAND) + 1;
  const tops = [0];
  for (let band = 1; band < bands; band += 1) {
    const before = Array.from(
      { length: COLUMNS_IN_BAND },
      (_, at) => heights.get((band - 1) * COLUMNS_IN_BAND + at) ?? 0,
    );
    tops.push(tops[band - 1]! + Math.max(...before) + BAND_GAP_PX);
  }
  return tops;
};

type Box = Point & { readonly height: number };

/** The first place from there downwards where a node of this height covers no other. */
const freePlace = ({ x, y }: Point, height: number, taken: readonly Box[]): Point => {
  const inTheWay = taken
    .filter((one) => Math.abs(one.x - x) < NODE_WIDTH + GAP_PX)
    .sort((left, right) => left.y - right.y);
  return inTheWay.reduce(
    (place, one) =>
      place.y < one.y + one.height + GAP_PX && one.y < place.y + height + GAP_PX
        ? { x, y: one.y + one.height + GAP_PX }
        : place,
    { x, y },
  );
};

const columnsOf = (objects: readonly ScriptObject[], types: TypesById): Map<number, number> => {
  const byId = new Map(objects.map((object) => [object.oId, object]));
  const columns = new Map<number, number>();
  let front = objects.filter(({ oType }) => oType === START_TYPE).map(({ oId }) => oId);
  for (let column = 0; front.length > 0; column += 1) {
    for (const oId of front) columns.set(oId, column);
    const next = front.flatMap((oId) => {
      const object = byId.get(oId);
      return object ? transfersOf(object, types.get(object.oType)?.keys ?? {}).map(({ to }) => to) : [];
    });
    front = [...new Set(next)].filter((oId) => byId.has(oId) && !columns.has(oId));
  }
  return columns;
};

/** A new object of the type under the next free number, right of or below the one before it. */
export const newObject = (
  objects: readonly ScriptObject[],
  type: ElementType,
  types: TypesById,
  after: number | undefined,
): ScriptObject => {
  const oId = Math.max(0, ...objects.map((object) => object.oId)) + 1;
  const places = placesOf(objects, types);
  const before = after === undefined ? undefined : places.get(after);
  const wanted = before ? { x: before.x + COLUMN_PX, y: before.y } : { x: 0, y: 0 };
  const taken = objects.map((each) => ({ ...places.get(each.oId)!, height: heightOf(each, types.get(each.oType)) }));
  const made = { oId, oType: type.oType, name: '' };
  const place = freePlace(wanted, heightOf(made, type), taken);
  return { ...made, oLeft: Math.round(place.x), oTop: Math.round(place.y) };
};
