import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLine, type Entry } from './line.ts';

type Named = Entry & { name: string };
const named = (name: string): Named => ({ name, deaths: 0 });
const wanted = () => true;

const startAll = (line: ReturnType<typeof createLine<Named>>, limit = 10): string[] => {
  const started: string[] = [];
  for (let entry = line.next(limit); entry; entry = line.next(limit)) started.push(entry.name);
  return started;
};

describe('the line of utterances', () => {
  it('starts them in order and up to the limit', () => {
    const line = createLine<Named>();
    for (const name of ['a', 'b', 'c']) line.add(named(name));
    assert.deepEqual(startAll(line, 2), ['a', 'b']);
    assert.equal(line.inFlight, 2);
    assert.equal(line.waiting, 1);
  });

  it('tries those that a death found in flight one at a time, before everything else', () => {
    const line = createLine<Named>();
    const [a, b, c] = ['a', 'b', 'c'].map(named) as [Named, Named, Named];
    line.add(a);
    line.add(b);
    startAll(line);
    line.add(c);
    assert.deepEqual(line.blame(wanted), []);
    assert.deepEqual(startAll(line), ['a']);
    line.remove(a);
    assert.deepEqual(startAll(line), ['b']);
    line.remove(b);
    assert.deepEqual(startAll(line), ['c']);
  });

  it('blames only the one that was alone at the second death', () => {
    const line = createLine<Named>();
    const [a, b] = ['a', 'b'].map(named) as [Named, Named];
    line.add(a);
    line.add(b);
    startAll(line);
    line.blame(wanted);
    startAll(line);
    assert.deepEqual(line.blame(wanted), [a]);
    assert.deepEqual(startAll(line), ['b']);
    assert.equal(b.deaths, 1);
  });

  it('does not try again what nobody waits for', () => {
    const line = createLine<Named>();
    line.add(named('a'));
    startAll(line);
    assert.deepEqual(
      line.blame(() => false),
      [],
    );
    assert.deepEqual(startAll(line), []);
  });

  it('keeps the place of what could not be started', () => {
    const line = createLine<Named>();
    line.add(named('a'));
    line.add(named('b'));
    line.putBack(line.next(1)!);
    assert.deepEqual(startAll(line), ['a', 'b']);
  });

  it('drains everything once', () => {
    const line = createLine<Named>();
    for (const name of ['a', 'b', 'c']) line.add(named(name));
    line.next(1);
    assert.equal(line.drain().length, 3);
    assert.equal(line.inFlight + line.waiting, 0);
  });
});
