import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { isUnavailable } from './sqlite-apply.ts';

it('a database that is full, locked or not to be written cannot be used now; a wrong statement is another matter', () => {
  const thrownBy = (act: () => void): unknown => {
    try {
      act();
    } catch (thrown) {
      return thrown;
    }
    return undefined;
  };
  using db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE t (x); PRAGMA max_page_count = 4');
  const full = thrownBy(() => db.prepare('INSERT INTO t VALUES (zeroblob(100000))').run());
  assert.match(String(full), /full/);
  assert.equal(isUnavailable(full), true);
  db.exec('PRAGMA query_only = 1');
  assert.equal(isUnavailable(thrownBy(() => db.exec('INSERT INTO t VALUES (1)'))), true);
  assert.equal(isUnavailable(thrownBy(() => db.exec('nonsense'))), false);
  assert.equal(isUnavailable(new Error('something else')), false);
});
