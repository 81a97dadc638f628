/** `npm run docs` writes docs/settings.md from the settings as they are declared; `--check` fails when it is stale. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type Declaration, envNameOf, type Setting } from '@parley/kit/settings.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import { SPEECH_SETTINGS } from '@parley/speech/settings.ts';
import { SUPERVISOR_SETTINGS } from '../packages/parley/src/settings.ts';

const PATH = new URL('../docs/settings.md', import.meta.url);

const showDuration = (ms: number): string => {
  for (const [unit, size] of [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1000],
  ] as const) {
    if (ms >= size && ms % size === 0) return `${ms / size}${unit}`;
  }
  return `${ms}ms`;
};

const showBytes = (size: number): string => {
  for (const [unit, factor] of [
    ['GiB', 2 ** 30],
    ['MiB', 2 ** 20],
    ['KiB', 2 ** 10],
  ] as const) {
    if (size >= factor && size % factor === 0) return `${size / factor} ${unit}`;
  }
  return `${size}`;
};

const showDefault = ({ kind, fallback }: Setting<unknown>): string => {
  if (kind === 'duration') return showDuration(fallback as number);
  if (kind === 'durations') return (fallback as readonly number[]).map(showDuration).join(', ') || '(none)';
  if (kind === 'size') return showBytes(fallback as number);
  if (Array.isArray(fallback)) return fallback.join(', ') || '(none)';
  if (typeof fallback === 'object' && fallback !== null) {
    return (
      Object.entries(fallback)
        .map(([key, value]) => `${key}=${value}`)
        .join(', ') || '(none)'
    );
  }
  return fallback === '' ? '(empty)' : String(fallback);
};

const escapeCell = (text: string): string => text.replaceAll('|', '\\|');

const rowsOf = (section: string, declaration: Declaration, shared: boolean): string[] =>
  Object.entries(declaration)
    .filter(([, setting]) => setting.shared === shared)
    .map(([key, setting]) => {
      const names = [...new Set([...setting.env, envNameOf(section, key, setting.shared)])];
      const cells = [
        `\`${key}\``,
        names.map((name) => `\`${name}\``).join(', '),
        setting.kind,
        showDefault(setting),
        setting.describe,
      ];
      return `| ${cells.map(escapeCell).join(' | ')} |`;
    });

const HEAD = ['| key | environment | kind | default | meaning |', '|---|---|---|---|---|'];

const page = [
  '# Settings',
  '',
  'Written by `npm run docs` from the declarations; do not edit by hand.',
  '',
  'A setting comes from, in this order: `--set KEY=VALUE` on the command line, the environment, `parley.yaml` (or the file',
  'that `--config` or `PARLEY_CONFIG` names), its default. In the file, shared settings stand at the top, the others under',
  '`speech:`, `platform:` or `supervisor:`; on the command line their keys begin with that word and a dot. An empty variable counts as',
  'not set. Durations are written `500ms`, `30s`, `15m`, `4h`, `30d`, a bare number is seconds; sizes `512 MiB`. `npm start --',
  'config check` prints what is in force, without secrets.',
  '',
  '```yaml',
  'host: 0.0.0.0',
  'data_dir: /var/lib/parley',
  'speech:',
  '  audio:',
  '    max_duration: 2h',
  '  asr:',
  '    default_model: pocketsphinx-en-us',
  '```',
  '',
  '## Shared',
  '',
  ...HEAD,
  ...new Set([...rowsOf('speech', SPEECH_SETTINGS, true), ...rowsOf('platform', PLATFORM_SETTINGS, true)]),
  '',
  '## speech',
  '',
  ...HEAD,
  ...rowsOf('speech', SPEECH_SETTINGS, false),
  '',
  '## platform',
  '',
  ...HEAD,
  ...rowsOf('platform', PLATFORM_SETTINGS, false),
  '',
  '## supervisor',
  '',
  ...HEAD,
  ...rowsOf('supervisor', SUPERVISOR_SETTINGS, false),
  '',
].join('\n');

if (process.argv.includes('--check')) {
  let current = '';
  try {
    current = readFileSync(PATH, 'utf8');
  } catch {
    // Missing is stale.
  }
  if (current !== page) {
    process.stderr.write('docs/settings.md is stale: run npm run docs\n');
    process.exitCode = 1;
  }
} else writeFileSync(PATH, page);
