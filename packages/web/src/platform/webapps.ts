/** The applications that the roles of a session offer (`webapps`), as they stand in menus. Pure. */
import type { Webapp } from './account/console.tsx';

/** An application may name any address; only pages of the web are linked. Undefined for all others. */
export const hrefOf = ({ url }: Pick<Webapp, 'url'>): string | undefined => {
  const target = url ? URL.parse(url, location.origin) : null;
  return target && ['http:', 'https:'].includes(target.protocol) ? target.href : undefined;
};
