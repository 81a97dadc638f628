/** From planned nodes to what runs: one maker a kind of role. A product layer adds its own. */
import { fileURLToPath } from 'node:url';
import type { CommandLine } from '@parley/kit/command-line.ts';
import type { Service } from '@parley/kit/service.ts';
import { readSettings } from '@parley/kit/settings.ts';
import type { PlannedNode } from '@parley/platform/nodes/plan.ts';
import { PLATFORM_SERVICE } from '@parley/platform/service.ts';
import { SPEECH_SERVICE } from '@parley/speech/service.ts';
import type { NodeSpec } from './child.ts';
import type { Sockets } from './sockets.ts';

export type MakerParts = {
  readonly line: CommandLine;
  readonly sockets: Sockets;
  readonly memoryLimitBytes: number;
};

/** What runs a planned node; undefined when nothing here can. */
export type SpecMaker = (planned: PlannedNode, parts: MakerParts) => Promise<NodeSpec | undefined>;

const MODULES = {
  speech: import.meta.resolve('@parley/speech/main.ts'),
  platform: import.meta.resolve('@parley/platform/main.ts'),
} as const;

/** Options of a role as settings of its service: nested or dotted, single values only. */
const toFlags = (section: string, options: { readonly [key: string]: unknown }, prefix = ''): Record<string, string> =>
  Object.fromEntries(
    Object.entries(options).flatMap(([name, value]): [string, string][] => {
      const key = `${prefix}${name}`;
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
        return Object.entries(toFlags(section, value as { [key: string]: unknown }, `${key}.`));
      }
      return value === null || value === undefined ? [] : [[`${section}.${key}`, String(value)]];
    }),
  );

const serviceMaker =
  (service: Service, module: string, portKey: string): SpecMaker =>
  async (planned, { line, sockets, memoryLimitBytes }) => {
    const flags = toFlags(service.name, planned.options);
    const place = placeIn(service, portKey, line, flags);
    const socket = place && (await sockets.hold(place));
    const options = Object.entries(flags).map(([key, value]) => `--set=${key}=${value}`);
    return {
      name: planned.name,
      role: planned.role,
      kind: planned.kind,
      index: planned.index,
      module: fileURLToPath(module),
      args: [planned.kind, planned.name, ...line.shared, ...options],
      service,
      memoryLimitBytes,
      ...(socket ? { socket } : {}),
    };
  };

/** Where a node listens; undefined when its settings cannot be used, which the node itself will say. */
const placeIn = (
  { declaration, name }: Service,
  portKey: string,
  { env, file, flags }: CommandLine,
  options: Readonly<Record<string, string>>,
): { owner: string; host: string; port: number } | undefined => {
  try {
    const values: Readonly<Record<string, unknown>> = readSettings(declaration, {
      section: name,
      env,
      file,
      flags: { ...flags, ...options },
    }).values;
    return { owner: name, host: String(values.host), port: Number(values[portKey]) };
  } catch {
    return undefined;
  }
};

/** The kinds that need nothing installed. */
export const SERVICE_MAKERS: Readonly<Record<string, SpecMaker>> = {
  platform: serviceMaker(PLATFORM_SERVICE as unknown as Service, MODULES.platform, 'port'),
  speech: serviceMaker(SPEECH_SERVICE as unknown as Service, MODULES.speech, 'server.port'),
};
