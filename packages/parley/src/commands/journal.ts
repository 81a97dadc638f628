/** `parley journal verify`: holds the journal against itself and against the rows, also while the services run. */

import { existsSync } from 'node:fs';
import { isPostgres } from '@parley/kit/store/open.ts';
import { openSnapshot } from '@parley/kit/store/open-snapshot.ts';
import { readPlaces } from '../backup/places.ts';
import type { Command } from '../command.ts';
import { verifyJournal } from '../journal/verify.ts';

export const journalCommand: Command = {
  name: 'journal',
  usage: 'verify',
  summary: 'checks that the journal has no gaps and agrees with the rows',
  run: async (args, { line, out }) => {
    if (args.length !== 1 || args[0] !== 'verify') throw new Error('journal knows one word: verify.');
    const stores = readPlaces(line).stores.filter(({ place }) => isPostgres(place) || existsSync(place));
    if (stores.length === 0) throw new Error('There is no installation here.');
    let faults = 0;
    for (const { name, place } of stores) {
      await using snapshot = await openSnapshot(place);
      const report = await verifyJournal(snapshot);
      faults += report.faults.length;
      for (const fault of report.faults) out.write(`${name}: ${fault}\n`);
      const counts = `${report.domains} domains, ${report.entries} entries, ${report.objects} objects`;
      out.write(`${name}: ${counts}, ${report.faults.length === 0 ? 'all well' : `${report.faults.length} faults`}.\n`);
    }
    return faults === 0 ? 0 : 1;
  },
};
