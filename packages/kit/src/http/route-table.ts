/** Knows which methods an address has, so that a wrong one is answered with 405 and `Allow` instead of 404. */
import findMyWay, { type HTTPMethod } from 'find-my-way';

export type RouteTable = {
  add(method: string | readonly string[], pattern: string): void;
  /** The methods known at this address, in alphabetical order; empty when there are none. */
  methodsAt(url: string): string[];
};

/** The same router that Fastify uses, asked for every method. */
export const createRouteTable = (maxParamLength: number): RouteTable => {
  const router = findMyWay({ maxParamLength });
  const methods = new Set<HTTPMethod>();
  return {
    add: (method, pattern) => {
      for (const one of [method].flat() as HTTPMethod[]) {
        if (router.hasRoute(one, pattern)) continue;
        router.on(one, pattern, () => undefined);
        methods.add(one);
      }
    },
    methodsAt: (url) => [...methods].filter((method) => router.find(method, url.split('?', 1)[0]!) !== null).sort(),
  };
};
