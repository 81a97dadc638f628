/**
 * Where apt-get may fetch from, as text for a sources folder of our own: the distribution's entries out of the system's
 * (third parties' left out), or the distribution's public archive. Pure.
 */

/** File name → content for `Dir::Etc::sourceparts`. */
export type SourceFiles = Readonly<Record<string, string>>;
export type SystemSource = { readonly name: string; readonly content: string };
export type Distribution = { readonly id: string; readonly codename: string };

const POCKETS = ['', '-updates', '-security', '/updates'];
const FLOATING_SUITES = ['stable', 'oldstable', 'testing', 'unstable', 'sid'];
/** Ubuntu keeps pocketsphinx in universe. */
const COMPONENTS = ['main', 'universe'];
const USABLE_URI = /^(?:https?|ftp|file|copy|mirror\+?[a-z]*|mirror):/;
/** Signatures are always checked, whatever the system lets pass. */
const KEPT_FIELDS = ['signed-by', 'architectures', 'check-valid-until', 'by-hash', 'pdiffs'];
const REFUSED_OPTIONS = /^(?:trusted|allow-insecure|allow-weak|allow-downgrade-to-insecure)=/i;

const isDistributionSuite = (suite: string, codename: string): boolean =>
  [codename, ...FLOATING_SUITES].some((base) => POCKETS.some((pocket) => suite === `${base}${pocket}`));

/** One line of a `.list` file, or undefined when it is not the distribution's. */
const keepLine = (line: string, codename: string): string | undefined => {
  const parts = /^deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+(.+)$/.exec(line.replace(/#.*$/, '').trim());
  if (!parts) return undefined;
  const [, options = '', uri = '', suite = '', rest = ''] = parts;
  const components = rest.split(/\s+/).filter((component) => COMPONENTS.includes(component));
  if (!USABLE_URI.test(uri) || !isDistributionSuite(suite, codename) || components.length === 0) return undefined;
  const kept = options.split(/\s+/).filter((option) => option !== '' && !REFUSED_OPTIONS.test(option));
  return `deb ${kept.length > 0 ? `[${kept.join(' ')}] ` : ''}${uri} ${suite} ${components.join(' ')}`;
};

/** Fields of one deb822 stanza, names in lower case, continuation lines kept. */
const readStanza = (stanza: string): Map<string, string> => {
  const fields = new Map<string, string>();
  let last = '';
  for (const line of stanza.split('\n')) {
    if (line.startsWith('#')) continue;
    const field = /^([A-Za-z0-9-]+):[ \t]*(.*)$/.exec(line);
    if (field) {
      last = field[1]!.toLowerCase();
      fields.set(last, field[2]!);
    } else if (/^\s/.test(line) && last !== '') fields.set(last, `${fields.get(last)}\n${line}`);
  }
  return fields;
};

const wordsOf = (fields: Map<string, string>, name: string): string[] =>
  (fields.get(name) ?? '').split(/\s+/).filter((word) => word !== '');

const keepStanza = (stanza: string, codename: string): string | undefined => {
  const fields = readStanza(stanza);
  const suites = wordsOf(fields, 'suites').filter((suite) => isDistributionSuite(suite, codename));
  const components = wordsOf(fields, 'components').filter((component) => COMPONENTS.includes(component));
  const uris = wordsOf(fields, 'uris').filter((uri) => USABLE_URI.test(uri));
  const off = /^(?:no|false|without|off|disable|0)$/i.test(fields.get('enabled')?.trim() ?? '');
  if (off || !wordsOf(fields, 'types').includes('deb')) return undefined;
  if (suites.length === 0 || components.length === 0 || uris.length === 0) return undefined;
  return [
    'Types: deb',
    `URIs: ${uris.join(' ')}`,
    `Suites: ${suites.join(' ')}`,
    `Components: ${components.join(' ')}`,
    ...KEPT_FIELDS.flatMap((name) => (fields.has(name) ? [`${name}: ${fields.get(name)}`] : [])),
  ].join('\n');
};

/** The distribution's entries among the system's sources; empty when it has none. */
export const pickSources = (system: readonly SystemSource[], codename: string): SourceFiles => {
  const lines = system
    .filter(({ name }) => name.endsWith('.list'))
    .flatMap(({ content }) => content.split('\n').flatMap((line) => keepLine(line, codename) ?? []));
  const stanzas = system
    .filter(({ name }) => name.endsWith('.sources'))
    .flatMap(({ content }) => content.split(/\n[ \t]*\n/).flatMap((stanza) => keepStanza(stanza, codename) ?? []));
  return {
    ...(lines.length > 0 && { 'system.list': `${[...new Set(lines)].join('\n')}\n` }),
    ...(stanzas.length > 0 && { 'system.sources': `${[...new Set(stanzas)].join('\n\n')}\n` }),
  };
};

/** The distribution's public archive; undefined for a distribution we know none of. */
export const publicSources = ({ id, codename }: Distribution, architecture: string): SourceFiles | undefined => {
  if (!/^[a-z][a-z0-9.-]{0,40}$/.test(codename)) return undefined;
  if (id === 'debian') {
    const key = '/usr/share/keyrings/debian-archive-keyring.gpg';
    return { 'public.list': `deb [signed-by=${key}] http://deb.debian.org/debian ${codename} main\n` };
  }
  if (id === 'ubuntu') {
    const key = '/usr/share/keyrings/ubuntu-archive-keyring.gpg';
    const host = ['amd64', 'i386'].includes(architecture)
      ? 'archive.ubuntu.com/ubuntu'
      : 'ports.ubuntu.com/ubuntu-ports';
    return { 'public.list': `deb [signed-by=${key}] http://${host} ${codename} main universe\n` };
  }
  return undefined;
};

/** What `/etc/os-release` says; a derivative counts as what it is made from. */
export const readDistribution = (osRelease: string): Distribution | undefined => {
  const fields = new Map(
    osRelease.split('\n').flatMap((line) => {
      const field = /^([A-Z_]+)="?([^"]*)"?$/.exec(line.trim());
      return field ? [[field[1]!, field[2]!] as const] : [];
    }),
  );
  const ubuntu = fields.get('UBUNTU_CODENAME');
  if (ubuntu) return { id: 'ubuntu', codename: ubuntu };
  const codename = fields.get('DEBIAN_CODENAME') ?? fields.get('VERSION_CODENAME');
  const family = [fields.get('ID') ?? '', ...(fields.get('ID_LIKE') ?? '').split(' ')];
  const id = ['debian', 'ubuntu'].find((name) => family.includes(name));
  return id && codename ? { id, codename } : undefined;
};
