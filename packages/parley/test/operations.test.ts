/** Holds docs/operations.md and what lies in deploy/ to the code: settings, ports, paths, times, measures, commands. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@parley/kit/clock.ts';
import { type Metrics, measureCommits, measureRequests } from '@parley/kit/metrics.ts';
import { type Declaration, envNameOf } from '@parley/kit/settings.ts';
import { measurePlatform, meterBans } from '@parley/platform/metrics.ts';
import { PLATFORM_SETTINGS } from '@parley/platform/settings.ts';
import { createMeasures, measureState } from '@parley/speech/metrics.ts';
import { SPEECH_SETTINGS } from '@parley/speech/settings.ts';
import { parse } from 'yaml';
import { SUPERVISOR_SETTINGS } from '../src/settings.ts';
import { LIMITS } from '../src/supervisor/limits.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const FILES = [...globSync('deploy/**/*', { cwd: ROOT, withFileTypes: true })]
  .filter((entry) => entry.isFile() && !entry.parentPath.endsWith('secrets'))
  .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length));
const DOCS = 'docs/operations.md';
const UNITS = FILES.filter((path) => path.endsWith('.service'));

const canVerify = spawnSync('systemd-analyze', ['--version']).status === 0;

const envNames = (section: string, declaration: Declaration): string[] =>
  Object.entries(declaration).flatMap(([key, { env, shared }]) => [...env, envNameOf(section, key, shared)]);

const KNOWN_ENV: ReadonlySet<string> = new Set([
  'PARLEY_CONFIG',
  ...envNames('speech', SPEECH_SETTINGS),
  ...envNames('platform', PLATFORM_SETTINGS),
  ...envNames('supervisor', SUPERVISOR_SETTINGS),
]);

const PORTS = [PLATFORM_SETTINGS.port.fallback, SPEECH_SETTINGS['server.port'].fallback];

describe('what an operator is given', () => {
  it('names settings that there are', () => {
    assert.ok(FILES.length >= 6 && UNITS.length === 2, FILES.join());
    for (const path of [...FILES, DOCS]) {
      const named = read(path).match(/\bPARLEY_[A-Z0-9_]+/g) ?? [];
      assert.deepEqual(
        named.filter((name) => !KNOWN_ENV.has(name)),
        [],
        path,
      );
    }
  });

  it('names ports that are listened on', () => {
    const dockerfile = read('deploy/Dockerfile');
    assert.equal(/^EXPOSE (.*)$/m.exec(dockerfile)![1], PORTS.join(' '));
    const asked = [...dockerfile.matchAll(/http:\/\/127\.0\.0\.1:(\d+)\/healthz/g)].map(([, port]) => Number(port));
    assert.deepEqual(asked, PORTS);
    const { services } = parse(read('deploy/compose.yaml'));
    assert.deepEqual(
      services.parley.ports,
      PORTS.map((port) => `127.0.0.1:${port}:${port}`),
    );
  });

  it('names files that there are', () => {
    const brought = (path: string): boolean => existsSync(join(ROOT, path)) || path.startsWith('node_modules/.bin/');
    for (const path of [...FILES, DOCS]) {
      const named = [
        ...read(path).matchAll(/(?:\/opt\/parley\/|\s|"|\()((?:deploy|packages|docs|node_modules)\/[\w./-]+)/g),
      ];
      const missing = named.map(([, each]) => each!).filter((each) => !each.includes('secrets') && !brought(each));
      assert.deepEqual(missing, [], path);
    }
  });

  it('has units that systemd takes without a word', { skip: !canVerify && 'no systemd-analyze here' }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-units-'));
    try {
      const units = FILES.filter((path) => path.startsWith('deploy/systemd/')).map((path) => {
        const copy = join(folder, basename(path));
        // It wants every program to be there.
        writeFileSync(copy, read(path).replaceAll('/opt/parley/node_modules/.bin/node', process.execPath));
        return copy;
      });
      assert.equal(units.length, 3);
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...units]);
      assert.deepEqual([status, `${stdout}${stderr}`], [0, '']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('lets the services drain before it ends them', () => {
    const graceSec = LIMITS.stopGraceMs / 1000;
    const unit = read('deploy/systemd/parley.service');
    assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1]) > graceSec);
    assert.match(unit, /^KillMode=mixed$/m);
    assert.match(unit, /^Restart=always$/m);
    const { services } = parse(read('deploy/compose.yaml'));
    assert.ok(Number.parseInt(services.parley.stop_grace_period, 10) > graceSec);
  });

  it('defines every secret and volume that it uses', () => {
    const { services, secrets, volumes } = parse(read('deploy/compose.yaml'));
    const used = Object.values<{ secrets: (string | { source: string })[] }>(services).flatMap((each) =>
      each.secrets.map((secret) => (typeof secret === 'string' ? secret : secret.source)),
    );
    assert.deepEqual(used.sort(), Object.keys(secrets).sort());
    const mounted = Object.values<{ volumes: string[] }>(services).flatMap((each) =>
      each.volumes.map((volume) => volume.split(':')[0]!),
    );
    assert.deepEqual(mounted.sort(), Object.keys(volumes).sort());
  });

  it('lists every measure, and none that there is not', () => {
    const declared = new Set<string>();
    const noting =
      <T>(instrument: T) =>
      ({ name }: { name: string }): T => {
        declared.add(name);
        return instrument;
      };
    const metrics = {
      isOn: true,
      counter: noting({ add: () => undefined }),
      histogram: noting({ observe: () => undefined }),
      gauge: noting(undefined),
      render: async () => ({ contentType: '', body: '' }),
    } as unknown as Metrics;
    // Declaring reads nothing.
    measureRequests(metrics);
    measureCommits(metrics, {} as Parameters<typeof measureCommits>[1]);
    createMeasures(metrics);
    measureState(metrics, {} as Parameters<typeof measureState>[1]);
    measurePlatform(metrics, { store: { driver: 'postgres' } } as unknown as Parameters<typeof measurePlatform>[1]);
    meterBans(metrics, systemClock, {} as Parameters<typeof meterBans>[2]);
    const docs = read(DOCS);
    const listed = [...docs.matchAll(/^\| `(parley_\w+)` \|/gm)].map(([, name]) => name!);
    assert.deepEqual(listed.sort(), [...declared].sort());
    const alerts = (docs.match(/parley_[a-z_]+/g) ?? []).map((name) => name.replace(/_(?:count|sum|bucket)$/, ''));
    assert.deepEqual(
      alerts.filter((name) => !declared.has(name)),
      [],
    );
  });

  it('names commands that there are', () => {
    const bin = join(ROOT, 'packages/parley/bin/parley.js');
    const help = execFileSync(process.execPath, [bin, 'help'], { encoding: 'utf8' });
    const known = new Set([...help.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name!));
    const named = [...read(DOCS).matchAll(/(?:npm start -- |parley\.js )(\w+)/g)].map(([, name]) => name!);
    assert.ok(named.length > 5);
    assert.deepEqual(
      named.filter((name) => !known.has(name)),
      [],
    );
  });
});
