/** One entry of the journal: who, when, from where, and each field before and after, side by side. */
import { useState } from 'react';
import { Dialog } from '../../shared/dialog.tsx';
import { CheckField } from '../../shared/form.tsx';
import { formatInstant } from '../../shared/format.ts';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { Badge, Loading } from '../../shared/parts.tsx';
import { useConsole } from '../account/console.tsx';
import { flatten, type Json } from '../data/schema.ts';
import { FaultText } from '../faults.tsx';
import { type Entry, pairQueryOf, TONES } from './journal-query.ts';

const useTexts = createTexts({
  en: {
    title: (type: string, key: string) => `${type} ${key}`,
    by: (who: string, when: string) => `${who}, ${when}`,
    from: (address: string) => `from ${address}`,
    field: 'Field',
    before: 'Before',
    after: 'After',
    all: 'Show what stayed the same too',
    commands: { create: 'created', update: 'changed', delete: 'deleted' },
    unknown: 'What was there before is no longer in the journal.',
  },
  ru: {
    title: (type: string, key: string) => `${type} ${key}`,
    by: (who: string, when: string) => `${who}, ${when}`,
    from: (address: string) => `с адреса ${address}`,
    field: 'Поле',
    before: 'Было',
    after: 'Стало',
    all: 'Показать и то, что не изменилось',
    commands: { create: 'создано', update: 'изменено', delete: 'удалено' },
    unknown: 'Прежнего состояния в журнале уже нет.',
  },
});

type Line = { readonly path: string; readonly before: string | undefined; readonly after: string | undefined };

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 1));

/** Every field of either, in the order they have. */
const linesOf = (before: Json, after: Json): Line[] => {
  const [left, right] = [new Map(flatten(before)), new Map(flatten(after))];
  return [...new Set([...left.keys(), ...right.keys()])].map((path) => ({
    path,
    before: left.has(path) ? textOf(left.get(path)) : undefined,
    after: right.has(path) ? textOf(right.get(path)) : undefined,
  }));
};

type Pair = { readonly before: Json; readonly after: Json; readonly isKnown: boolean };

/** `entries`: of one object, newest first. */
const pairOf = (entry: Entry, entries: readonly Entry[]): Pair => {
  const at = entries.findIndex(({ seq }) => seq === entry.seq);
  const own = entries[at]?.obj ?? {};
  const previous = at < 0 || entry.cmdtype === 'create' ? undefined : entries[at + 1]?.obj;
  if (entry.cmdtype === 'delete') return { before: previous ?? own, after: {}, isKnown: true };
  return { before: previous ?? {}, after: own, isKnown: entry.cmdtype === 'create' || previous !== undefined };
};

export const EntryDialog = ({ entry, onClose }: { entry: Entry; onClose: () => void }) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { api } = useConsole();
  const query = pairQueryOf(entry);
  const { data, error } = useLoaded((signal) => api.json<Entry[]>(query, { signal }), [api, query]);
  return (
    <Dialog title={t.title(entry.objtype, entry.objkey ?? entry.objid ?? '')} onClose={onClose} wide>
      <p className="row">
        <Badge tone={TONES[entry.cmdtype]}>{t.commands[entry.cmdtype]}</Badge>
        <span>{t.by(entry.modifiername, formatInstant(entry.dtutc, language))}</span>
        {entry.addr ? <span className="faint">{t.from(entry.addr)}</span> : null}
      </p>
      {error ? <FaultText error={error} /> : null}
      {data ? <Comparison pair={pairOf(entry, data)} /> : error ? null : <Loading />}
    </Dialog>
  );
};

const Comparison = ({ pair: { before, after, isKnown } }: { pair: Pair }) => {
  const t = useTexts();
  const [isAll, setAll] = useState(false);
  const lines = linesOf(before, after);
  const changed = lines.filter((line) => line.before !== line.after);
  return (
    <>
      {isKnown ? null : <p className="warning-box">{t.unknown}</p>}
      {changed.length < lines.length ? <CheckField label={t.all} checked={isAll} onChange={setAll} /> : null}
      <table className="compare" aria-label={`${t.before}, ${t.after}`}>
        <thead>
          <tr>
            <th scope="col">{t.field}</th>
            <th scope="col">{t.before}</th>
            <th scope="col">{t.after}</th>
          </tr>
        </thead>
        <tbody>
          {(isAll ? lines : changed).map((line) => (
            <tr key={line.path} className={line.before === line.after ? 'same' : 'differs'}>
              <th scope="row" className="mono">
                {line.path}
              </th>
              <Side text={line.before} label={t.before} />
              <Side text={line.after} label={t.after} />
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
};

const Side = ({ text, label }: { text: string | undefined; label: string }) => (
  <td data-label={label} className={text === undefined ? 'absent' : undefined}>
    <pre>{text}</pre>
  </td>
);
