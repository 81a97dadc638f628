/** `domain/projects`: what service scripts belong to. */
import { cannotApply } from '../codes.ts';
import { key, text } from '../rest/field.ts';
import { defineResource } from '../rest/resource.ts';

export const projects = defineResource({
  path: 'domain/projects',
  kind: 'project',
  summary: 'projects of service scripts',
  unique: ['code'],
  lookup: ['code'],
  list: ['id', 'code', 'name', 'opts.title', 'ext.lwt', 'ext.ct'],
  fields: { code: key({ required: true }), name: text({ maxLength: 128, fallback: '' }) },
  isExclusive: (mode) => mode === 'remove',
  beforeSave: (draft) => {
    draft.name ||= draft.code;
  },
  beforeRemove: ({ id }, { domain }) => {
    for (const script of domain.all('svcscript')) {
      if (script.projectid === id) throw cannotApply('id', 'referenced', { by: { svcscript: script.code } });
    }
  },
});
