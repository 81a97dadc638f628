/** The change journal: what was changed when and by whom, by conditions; an entry shows before and after. */
import { useState } from 'react';
import { useSearchParams } from 'wouter';
import { SelectField, TextField } from '../../shared/form.tsx';
import { formatInstant } from '../../shared/format.ts';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Badge, Loading } from '../../shared/parts.tsx';
import { Table } from '../../shared/table.tsx';
import { useConsole } from '../account/console.tsx';
import { Pager } from '../data/pager.tsx';
import { FaultText } from '../faults.tsx';
import { nameOf } from '../names.ts';
import { EntryDialog } from './entry-dialog.tsx';
import { COMMANDS, type Conditions, type Entry, journalQueryOf, readConditions, TONES } from './journal-query.ts';

const useTexts = createTexts({
  en: {
    title: 'Journal',
    conditions: 'Conditions',
    since: 'From',
    until: 'Until',
    what: 'What was done',
    who: 'By whom',
    whoHint: 'Name or a part of it',
    type: 'Kind',
    key: 'Id or key of one',
    keyHint: 'Goes with a kind.',
    any: 'any',
    commands: { create: 'created', update: 'changed', delete: 'deleted' },
    time: 'When',
    done: 'Done',
    fields: 'Fields',
    none: 'Nothing fits these conditions.',
  },
  ru: {
    title: 'Журнал',
    conditions: 'Условия',
    since: 'С',
    until: 'По',
    what: 'Что сделано',
    who: 'Кем',
    whoHint: 'Имя или его часть',
    type: 'Вид',
    key: 'Идентификатор или ключ',
    keyHint: 'Вместе с видом.',
    any: 'любое',
    commands: { create: 'создано', update: 'изменено', delete: 'удалено' },
    time: 'Когда',
    done: 'Сделано',
    fields: 'Поля',
    none: 'Ничего не подходит.',
  },
});

export const JournalPage = () => {
  const t = useTexts();
  const [params, setParams] = useSearchParams();
  const conditions = readConditions(params);
  const change = (part: Readonly<Record<string, string>>): void =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before);
        for (const [name, value] of Object.entries({ offset: '', ...part })) {
          if (value === '') next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace: true },
    );
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <div className="stack">
        <ConditionsForm conditions={conditions} onChange={change} />
        <Entries conditions={conditions} onPage={change} />
      </div>
    </>
  );
};

type FormProps = {
  readonly conditions: Conditions;
  readonly onChange: (part: Readonly<Record<string, string>>) => void;
};

const ConditionsForm = ({ conditions, onChange }: FormProps) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { collections } = useConsole();
  const kinds = collections
    .filter(({ change }) => change !== undefined)
    .map(({ name }) => ({ value: name, label: nameOf(name, language) }))
    .sort((a, b) => a.label.localeCompare(b.label));
  const any = { value: '', label: t.any };
  const commands = COMMANDS.map((one) => ({ value: one, label: t.commands[one] }));
  return (
    <section className="card grid" aria-label={t.conditions}>
      <TextField
        label={t.since}
        type="date"
        value={conditions.since}
        onChange={(since) => onChange({ since: since === '' ? 'ever' : since })}
      />
      <TextField label={t.until} type="date" value={conditions.until} onChange={(until) => onChange({ until })} />
      <SelectField
        label={t.what}
        value={conditions.cmdtype}
        onChange={(cmdtype) => onChange({ cmdtype })}
        choices={[any, ...commands]}
      />
      <SelectField
        label={t.type}
        value={conditions.objtype}
        onChange={(objtype) => onChange({ objtype })}
        choices={[any, ...kinds]}
      />
      <TextField
        label={t.key}
        hint={t.keyHint}
        value={conditions.objid}
        disabled={conditions.objtype === ''}
        onChange={(objid) => onChange({ objid })}
      />
      <TextField
        label={t.who}
        placeholder={t.whoHint}
        type="search"
        value={conditions.who}
        onChange={(who) => onChange({ who })}
      />
    </section>
  );
};

type EntriesProps = {
  readonly conditions: Conditions;
  readonly onPage: (part: Readonly<Record<string, string>>) => void;
};

const Entries = ({ conditions, onPage }: EntriesProps) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { api, collections } = useConsole();
  const [open, setOpen] = useState<Entry>();
  const query = journalQueryOf(conditions, collections);
  const entries = useLoaded((signal) => api.json<Entry[]>(`${query.rows}`, { signal }), [api, query.rows]);
  const count = useLoaded((signal) => api.json<{ count: number }>(query.count, { signal }), [api, query.count]);
  if (entries.error) return <FaultText error={entries.error} />;
  if (!entries.data) return <Loading />;
  return (
    <>
      <Table
        label={t.title}
        rows={entries.data}
        keyOf={({ seq }) => String(seq)}
        stacks
        onOpen={setOpen}
        empty={t.none}
        columns={[
          { key: 'time', label: t.time, render: ({ dtutc }) => formatInstant(dtutc, language) },
          { key: 'who', label: t.who, render: ({ modifiername }) => modifiername },
          {
            key: 'done',
            label: t.done,
            render: ({ cmdtype }) => <Badge tone={TONES[cmdtype]}>{t.commands[cmdtype]}</Badge>,
          },
          { key: 'type', label: t.type, render: ({ objtype }) => objtype },
          { key: 'key', label: t.key, render: ({ objkey, objid }) => <span className="mono">{objkey ?? objid}</span> },
          {
            key: 'fields',
            label: t.fields,
            render: ({ fields }) => <span className="small">{fields?.replaceAll(',', ', ')}</span>,
          },
        ]}
      />
      <Pager
        state={conditions}
        count={count.data?.count}
        shown={entries.data.length}
        onChange={({ offset, size }) =>
          onPage({
            offset: offset ? String(offset) : '',
            ...(size === undefined ? {} : { size: String(size) }),
          })
        }
      />
      {open ? <EntryDialog entry={open} onClose={() => setOpen(undefined)} /> : null}
    </>
  );
};
