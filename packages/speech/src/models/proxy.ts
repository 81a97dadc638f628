/** The operator's proxy variables, as they are usually spelled. */
import type { ProxyEnv } from './fetch-file.ts';

/** Capital names win over small ones; an empty variable counts as not set. */
export const proxyEnvOf = (env: Readonly<Record<string, string | undefined>>): ProxyEnv => {
  const read = (name: string): string | undefined => env[name] || env[name.toLowerCase()] || undefined;
  const found = { HTTP_PROXY: read('HTTP_PROXY'), HTTPS_PROXY: read('HTTPS_PROXY'), NO_PROXY: read('NO_PROXY') };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
};
