/**
 * A process that writes until it is killed, for store-sqlite.test.ts: numbers from argv[3] on, several writers at once.
 * Each commit writes two rows, a key and a journal entry; its number goes to standard output once it is acknowledged.
 */
import { writeSync } from 'node:fs';
import { createSilentLog } from '@parley/kit/log.ts';
import { openStore } from '@parley/kit/store/open.ts';

const [, , file, first] = process.argv;
const store = await openStore(file!, createSilentLog());
let next = Number(first);

const entry = (objid: string) => ({
  op: 'journal' as const,
  entry: {
    cmdtype: 'create' as const,
    dtutc: new Date().toISOString(),
    modifierid: 'm',
    modifiername: 'n',
    objtype: 'o',
    objid,
    objkey: null,
    fields: null,
    obj: {},
    addr: null,
  },
});

const write = async (): Promise<never> => {
  for (;;) {
    const id = `n${next++}`;
    const data = { id, fill: 'x'.repeat(2000) };
    try {
      await store.commit('d', [
        { op: 'put', kind: 'left', id, data, unique: { id } },
        { op: 'put', kind: 'right', id, data },
        entry(id),
      ]);
      writeSync(1, `${id}\n`);
    } catch (error) {
      writeSync(1, `${(error as Error).name}\n`);
    }
  }
};

await Promise.all(Array.from({ length: 8 }, write));
