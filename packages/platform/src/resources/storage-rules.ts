/** `domain/storagerules`: how long what is stored is kept. Stored and served in v1, nothing acts on them yet. */
import { cannotApply } from '../codes.ts';
import { integer, key, opts, text } from '../rest/field.ts';
import { isObject } from '../rest/json.ts';
import { defineResource } from '../rest/resource.ts';

const UNITS = ['sec', 'min', 'hour', 'day', 'month'];

export const storageRules = defineResource({
  path: 'domain/storagerules',
  kind: 'storagerule',
  summary: 'rules of how long stored data is kept',
  unique: ['name'],
  list: ['id', 'name', 'expires', 'opts.title', 'ext.lwt', 'ext.ct'],
  fields: {
    name: key({ required: true }),
    expires: integer({ required: true, description: 'Days; 0 is never. `opts.expires_unit` names another unit.' }),
    opts: opts({ expires_unit: text() }),
  },
  beforeSave: (draft) => {
    if (Number(draft.expires) < 0) throw cannotApply('expires', 'must not be negative');
    const unit = isObject(draft.opts) ? draft.opts.expires_unit : undefined;
    if (unit !== undefined && !UNITS.includes(String(unit))) {
      throw cannotApply('opts.expires_unit', `must be one of ${UNITS.join(', ')}`);
    }
  },
});
