/**
 * What the configuration in force means for one server: which nodes it runs. Pure; supervisors and tests call it.
 *
 * Lines of the structure say what runs where. A server that no line names, and every server while there are no lines,
 * runs what its own command starts. A role whose servers are all dead moves: the first living server, in the order of
 * `servers`, runs its lowest line until one of them is back. Requests and jobs need no move: every platform node serves
 * every domain, and speech nodes share one queue.
 */

type Json = { readonly [key: string]: unknown };

/** Content that passed its check, and the write that brought it. */
export type Plan = { readonly id: string; readonly lwt: string; readonly content: Json };

export type PlannedNode = {
  /** `<role>_<index>`. */
  readonly name: string;
  readonly role: string;
  /** `platform`, `speech`, `layer`. */
  readonly kind: string;
  readonly index: number;
  /** For `platform` and `speech`: settings of that service. */
  readonly options: Json;
};

type Server = { readonly name: string; readonly site: string; readonly address?: string };
type Role = { readonly name: string; readonly kind: string; readonly options?: Json };
type Line = { readonly server: string; readonly role: string; readonly index: number };

const listIn = <T>(content: Json | undefined, name: string): readonly T[] => {
  const found = content?.[name];
  return Array.isArray(found) ? (found as T[]) : [];
};

const serversIn = (content: Json | undefined): readonly Server[] => listIn<Server>(content, 'servers');

export type PlanView = {
  readonly content: Json | undefined;
  /** The server that asks. */
  readonly server: string;
  /** Kinds of roles that the server's command starts, each as one node where no line of the structure names the server. */
  readonly kinds: readonly string[];
  /** Names of the servers that live, this one included; undefined when nothing is known of others yet. */
  readonly alive: ReadonlySet<string> | undefined;
};

/** The nodes that a server shall run. */
export const plannedNodes = ({ content, server, kinds, alive }: PlanView): PlannedNode[] => {
  const lines = linesOf(content);
  const own = lines.filter((line) => line.server === server);
  const moved = alive ? movedTo(server, content, lines, alive) : [];
  if (own.length === 0) return [...kinds.map((kind) => defaultNode(kind)), ...moved];
  return [...own.map(({ node }) => node).filter(({ kind }) => kind === 'layer' || kinds.includes(kind)), ...moved];
};

type PlannedLine = { readonly server: string; readonly node: PlannedNode };

/** Every node that the structure names, with its server. */
export const linesOf = (content: Json | undefined): PlannedLine[] => {
  const roles = new Map(listIn<Role>(content, 'roles').map((role) => [role.name, role]));
  return listIn<Line>(content, 'structure').flatMap(({ server, role: name, index }) => {
    const role = roles.get(name);
    if (!role) return [];
    const { kind, options = {} } = role;
    return [{ server, node: { name: `${name}_${index}`, role: name, kind, index, options } }];
  });
};

const DEFAULT_INDEX = 1;

const defaultNode = (kind: string): PlannedNode => ({
  name: `${kind}_${DEFAULT_INDEX}`,
  role: kind,
  kind,
  index: DEFAULT_INDEX,
  options: {},
});

/** The lines of other servers that this one stands in for. */
const movedTo = (
  server: string,
  content: Json | undefined,
  lines: readonly PlannedLine[],
  alive: ReadonlySet<string>,
): PlannedNode[] => {
  if (standIn(content, alive) !== server) return [];
  const byRole = Map.groupBy(lines, ({ node }) => node.role);
  return [...byRole.values()]
    .filter((rows) => rows.every((row) => !alive.has(row.server)))
    .map((rows) => rows.reduce((lowest, row) => (row.node.index < lowest.node.index ? row : lowest)).node);
};

/** The server that runs what the dead leave behind: the first living one of the configuration, else by name. */
const standIn = (content: Json | undefined, alive: ReadonlySet<string>): string | undefined =>
  serversIn(content).find(({ name }) => alive.has(name))?.name ?? [...alive].sort()[0];

/** Site and address that the configuration gives a server. */
export const placeOf = (content: Json | undefined, server: string): { site?: string; address?: string } => {
  const found = serversIn(content).find(({ name }) => name === server);
  return found ? { site: found.site, ...(found.address ? { address: found.address } : {}) } : {};
};

/** Position of a server among those of the configuration; unknown ones come last. */
export const orderOf = (content: Json | undefined, server: string): number => {
  const at = serversIn(content).findIndex(({ name }) => name === server);
  return at < 0 ? Number.MAX_SAFE_INTEGER : at;
};
