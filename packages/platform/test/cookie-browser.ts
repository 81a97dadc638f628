/** As much of a browser as redirects and cookies need: by host, port and path, so that sites stay apart. */

export type Visit = { readonly status: number; readonly url: string; readonly headers: Headers; readonly text: string };

export type CookieBrowser = {
  /** One request; redirects are not followed. */
  ask(url: string, init?: RequestInit): Promise<Visit>;
  /** Follows redirects until there is a page, or until one leads where `until` says; that one is not asked. */
  follow(url: string, until?: (url: string) => boolean, init?: RequestInit): Promise<Visit>;
  /** Cookies this browser would send. */
  cookie(url: string, name: string): string | undefined;
};

type Cookie = { readonly name: string; readonly value: string; readonly path: string };

const MAX_REDIRECTS = 20;

const readCookie = (line: string): Cookie & { gone: boolean } => {
  const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
  const at = pair.indexOf('=');
  const of = (name: string) =>
    attributes.find((each) => each.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1);
  const gone = of('max-age') === '0' || Date.parse(of('expires') ?? '9999-01-01') < Date.now();
  return { name: pair.slice(0, at), value: pair.slice(at + 1), path: of('path') ?? '/', gone };
};

export const createCookieBrowser = (): CookieBrowser => {
  const jars = new Map<string, Map<string, Cookie>>();
  const cookiesFor = (url: URL): Cookie[] =>
    [...(jars.get(url.host)?.values() ?? [])].filter(({ path }) => url.pathname.startsWith(path));
  const ask = async (address: string, init: RequestInit = {}): Promise<Visit> => {
    const url = new URL(address);
    const cookie = cookiesFor(url)
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
    const headers = new Headers(init.headers);
    if (cookie !== '') headers.set('cookie', cookie);
    const answer = await fetch(url, { ...init, headers, redirect: 'manual' });
    const jar = jars.get(url.host) ?? new Map<string, Cookie>();
    jars.set(url.host, jar);
    for (const line of answer.headers.getSetCookie()) {
      const { gone, ...read } = readCookie(line);
      if (gone) jar.delete(`${read.name} ${read.path}`);
      else jar.set(`${read.name} ${read.path}`, read);
    }
    return { status: answer.status, url: url.href, headers: answer.headers, text: await answer.text() };
  };
  return {
    ask,
    cookie: (url, name) => cookiesFor(new URL(url)).find((each) => each.name === name)?.value,
    follow: async (address, until = () => false, init) => {
      let visit = await ask(address, init);
      for (let n = 0; n < MAX_REDIRECTS; n++) {
        const location = visit.headers.get('location');
        if (visit.status < 300 || visit.status >= 400 || location === null) return visit;
        const next = new URL(location, visit.url).href;
        if (until(next)) return { ...visit, url: next };
        visit = await ask(next);
      }
      throw new Error('too many redirects');
    },
  };
};
