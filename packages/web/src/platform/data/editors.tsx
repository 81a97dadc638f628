/** Fields that deserve more than the input their schema gives them. Each holds the same text the plain input would. */
import type { ComponentType } from 'react';
import { Field, SelectField, TextArea } from '../../shared/form.tsx';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import { RouteEditor } from '../roles/route-editor.tsx';
import type { EditorProps } from './editor-props.ts';

const useTexts = createTexts({
  en: { none: 'none', lines: 'One on each line.' },
  ru: { none: 'нет', lines: 'По одному в строке.' },
});

const NIL = '00000000-0000-0000-0000-000000000000';
const MAX_ROLES = 1000;

type RoleRow = { readonly id: string; readonly name: string };

/** All roles where they may be seen. */
const useRoles = (): readonly RoleRow[] | undefined => {
  const { api, may } = useConsole();
  const isSeen = may('GET', 'domain/roles');
  const loaded = useLoaded(
    async (signal) =>
      isSeen
        ? await api.json<RoleRow[]>(`/rest/v1/domain/roles?mask=id,name&order=name&limit=${MAX_ROLES}`, { signal })
        : undefined,
    [api, isSeen],
  );
  return loaded.data;
};

const RoleParent = ({ raw, ...field }: EditorProps) => {
  const t = useTexts();
  const roles = useRoles() ?? [];
  const known = roles.filter(({ name }) => name !== raw.name).map(({ id, name }) => ({ value: id, label: name }));
  const isKnown = field.value === '' || field.value === NIL || known.some(({ value }) => value === field.value);
  return (
    <SelectField
      {...field}
      value={field.value === '' ? NIL : field.value}
      choices={[
        { value: NIL, label: t.none },
        ...known,
        ...(isKnown ? [] : [{ value: field.value, label: field.value }]),
      ]}
    />
  );
};

/** Boxes to tick; where roles cannot be seen, their names. */
const RoleNames = ({ raw: _raw, ...field }: EditorProps) => {
  const t = useTexts();
  const roles = useRoles();
  const chosen = field.value.split('\n').filter((name) => name !== '');
  if (!roles) return <TextArea {...field} hint={t.lines} rows={3} />;
  const names = [...new Set([...roles.map(({ name }) => name), ...chosen])];
  const toggle = (name: string): void =>
    field.onChange((chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name]).join('\n'));
  return (
    <Field label={field.label} error={field.error}>
      {({ id, 'aria-describedby': described }) => (
        // biome-ignore lint/a11y/useSemanticElements: the label of the field names it already.
        <div id={id} role="group" aria-label={field.label} aria-describedby={described} className="row chips">
          {names.map((name) => (
            <label key={name} className="chip">
              <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} /> {name}
            </label>
          ))}
        </div>
      )}
    </Field>
  );
};

const EDITORS: Readonly<Record<string, ComponentType<EditorProps>>> = {
  'domain/roles routes': RouteEditor,
  'domain/roles parent_id': RoleParent,
  'iam/users opts.roles': RoleNames,
  'iam/groups opts.roles': RoleNames,
};

export const editorFor = (collection: string, key: string): ComponentType<EditorProps> | undefined =>
  EDITORS[`${collection} ${key}`];
