/** Saves what a filter finds as a JSON file that can be imported again. */
import type { Api } from '../../shared/api.ts';
import { saveFile } from '../../shared/save-file.ts';
import type { Collection } from './collections.ts';
import { type ListState, SIZES, selectionOf } from './list-query.ts';
import type { Json, Leaf } from './schema.ts';

/** As many as a list gives at once. */
const PAGE = SIZES.at(-1)!;

/** Asks page by page; the file is called after the collection. Rejects with ApiError. */
export const saveExport = async (
  api: Api,
  collection: Collection,
  state: ListState,
  leaves: readonly Leaf[],
): Promise<void> => {
  const params = selectionOf(state, leaves);
  params.set('export', 'true');
  params.set('limit', String(PAGE));
  const all: Json[] = [];
  // The platform may give fewer at once than are asked for; the end is where nothing comes any more.
  for (;;) {
    params.set('offset', String(all.length));
    const page = await api.json<Json[]>(`${collection.path}?${params}`);
    all.push(...page);
    if (page.length === 0) break;
  }
  saveFile(`${collection.name.replaceAll('/', '-')}.json`, JSON.stringify(all, null, 2));
};
