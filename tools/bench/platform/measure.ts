/** Alternating measures of several services: each operation in turn, each service in turn, and again; medians count. */
import { performance } from 'node:perf_hooks';
import { medianOf, openLoad, quantileOf } from './load.ts';
import { CLIENTS } from './seed.ts';
import type { Service } from './services.ts';

export type Figures = {
  /** Answers a second. */
  readonly rate: number;
  /** CPU of the service for one answer, ms; without the load generator's. */
  readonly cpuMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

export type Plan = {
  readonly seconds: number;
  readonly warmSeconds: number;
  readonly rounds: number;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
};

type Once = Figures & { readonly generatorShare: number };

/** Asks one service for so long. Throws when an answer is not 2xx. */
const measureOnce = async (
  { name, child }: Pick<Service, 'name' | 'child'>,
  ask: () => Buffer,
  seconds: number,
  signal: AbortSignal,
): Promise<Once> => {
  // Connections of its own: idle ones may be closed while others are measured.
  using load = await openLoad(child.url, CLIENTS, signal);
  const [cpuBefore, ownBefore] = [child.cpuMs(), performance.eventLoopUtilization()];
  const result = await load.run(ask, { seconds });
  const cpuMs = child.cpuMs() - cpuBefore;
  const generatorShare = performance.eventLoopUtilization(ownBefore).utilization;
  if (result.refused > 0) {
    throw new Error(`${name} refused ${result.refused} of ${result.requests} requests: ${result.firstRefusal}`);
  }
  return {
    rate: result.requests / result.seconds,
    cpuMs: cpuMs / result.requests,
    p50Ms: quantileOf(result.latenciesMs, 0.5),
    p99Ms: quantileOf(result.latenciesMs, 0.99),
    generatorShare,
  };
};

const medianFigures = (all: readonly Once[]): Figures => {
  const of = (key: keyof Figures): number => medianOf(all.map((each) => each[key]));
  return { rate: of('rate'), cpuMs: of('cpuMs'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') };
};

const show = (what: string, { rate, cpuMs, p99Ms, generatorShare }: Once): string => {
  const figures = `${rate.toFixed(0).padStart(7)}/s  ${cpuMs.toFixed(4)} ms CPU  p99 ${p99Ms.toFixed(2)} ms`;
  return `${what.padEnd(18)} ${figures}  generator busy ${(generatorShare * 100).toFixed(0)} %`;
};

type Operations<Name extends string> = Readonly<Record<Name, (service: Service) => (() => Buffer) | undefined>>;

/** Each operation on each service that has it, in this order. */
const stepsOf = <Name extends string>(services: readonly Service[], operations: Operations<Name>) =>
  (Object.entries(operations) as [Name, Operations<Name>[Name]][]).flatMap(([operation, askOf]) =>
    services.flatMap((service) => {
      const ask = askOf(service);
      return ask ? [{ operation, service, ask }] : [];
    }),
  );

/** Medians over the rounds, by operation and name of the service; every second round goes through the services backwards. */
export const measureInTurn = async <Name extends string>(
  services: readonly Service[],
  operations: Operations<Name>,
  { seconds, warmSeconds, rounds, log, signal }: Plan,
): Promise<Readonly<Record<Name, Readonly<Record<string, Figures>>>>> => {
  const all = new Map<string, Once[]>();
  for (const { service, ask } of stepsOf(services, operations)) await measureOnce(service, ask, warmSeconds, signal);
  for (let round = 0; round < rounds; round++) {
    for (const { operation, service, ask } of stepsOf(round % 2 === 0 ? services : services.toReversed(), operations)) {
      const once = await measureOnce(service, ask, seconds, signal);
      const key = `${operation} ${service.name}`;
      all.set(key, [...(all.get(key) ?? []), once]);
      log(show(key, once));
    }
  }
  const figuresOf = (operation: string): Record<string, Figures> =>
    Object.fromEntries(
      services.flatMap(({ name }) => {
        const found = all.get(`${operation} ${name}`);
        return found ? [[name, medianFigures(found)]] : [];
      }),
    );
  return Object.fromEntries(Object.keys(operations).map((name) => [name, figuresOf(name)])) as Record<
    Name,
    Record<string, Figures>
  >;
};
