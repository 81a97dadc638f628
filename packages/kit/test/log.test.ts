import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';

const LOG = new URL('../src/log.ts', import.meta.url).href;

/** What a process wrote to standard error and how it ended. */
const runLogging = async (body: string): Promise<{ lines: Record<string, unknown>[]; rest: string; end: unknown }> => {
  const program = `import { createLog } from ${JSON.stringify(LOG)};\nconst log = createLog('test');\n${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const [said, [code, signal]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  const all = said.split('\n').filter((line) => line !== '');
  const lines = all.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  return { lines, rest: all.filter((line) => !line.startsWith('{')).join('\n'), end: signal ?? code };
};

const numbers = (lines: readonly Record<string, unknown>[]): unknown[] => lines.map(({ n }) => n);
const HUNDRED = 'for (let n = 0; n < 100; n += 1) log.info({ n }, "line");';
const UP_TO_HUNDRED = Array.from({ length: 100 }, (_, n) => n);

describe('the log of a process', () => {
  it('has every line when the process ends by itself, at once, or by an error', async () => {
    const byItself = await runLogging(HUNDRED);
    assert.deepEqual([numbers(byItself.lines), byItself.end], [UP_TO_HUNDRED, 0]);
    const atOnce = await runLogging(`${HUNDRED} process.exit(3);`);
    assert.deepEqual([numbers(atOnce.lines), atOnce.end], [UP_TO_HUNDRED, 3]);
    const byError = await runLogging(`${HUNDRED} throw new Error('gone');`);
    assert.deepEqual([numbers(byError.lines), byError.end], [UP_TO_HUNDRED, 1]);
    assert.match(byError.rest, /Error: gone/);
  });

  it('has a warning and all before it even when the process is killed in the same turn', async () => {
    const { lines, end } = await runLogging(`${HUNDRED} log.warn({ n: 100 }, 'now'); process.kill(process.pid, 9);`);
    assert.deepEqual([numbers(lines), end], [[...UP_TO_HUNDRED, 100], 'SIGKILL']);
  });

  it('has the lines of every turn but the one in which the process is killed', async () => {
    const { lines } = await runLogging(
      `${HUNDRED} setTimeout(() => { log.info({ n: 'last' }); process.kill(process.pid, 9); }, 1);`,
    );
    assert.deepEqual(numbers(lines).slice(0, 100), UP_TO_HUNDRED);
  });

  it('cuts out what must not be in it', async () => {
    const { lines } = await runLogging(`log.info({ user: { password: 'p', name: 'n' }, key: { token: 't' } });`);
    assert.deepEqual([lines[0]?.user, lines[0]?.key], [{ password: '[redacted]', name: 'n' }, { token: '[redacted]' }]);
  });
});
