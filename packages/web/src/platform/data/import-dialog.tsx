/** Posts the items of a file one after the other and tells of each how it went. */
import { useRef, useState } from 'react';
import type { Api } from '../../shared/api.ts';
import { ApiError } from '../../shared/api.ts';
import { Dialog } from '../../shared/dialog.tsx';
import { CheckField } from '../../shared/form.tsx';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { Badge, Progress } from '../../shared/parts.tsx';
import { Table } from '../../shared/table.tsx';
import { useConsole } from '../account/console.tsx';
import { useFaultText } from '../faults.tsx';
import { nameOf } from '../names.ts';
import type { Collection } from './collections.ts';
import { isObject, type Json } from './schema.ts';

const useTexts = createTexts({
  en: {
    title: 'Import',
    choose: 'JSON file, such as an export saved',
    noList: 'This file holds no list of objects.',
    count: (count: number) => `${count} in the file.`,
    replace: 'Replace those that exist',
    go: 'Import',
    stop: 'Stop',
    row: 'Row',
    what: 'What',
    result: 'Result',
    made: 'created',
    replaced: 'replaced',
    refused: 'refused',
    results: 'Results',
    sum: (good: number, bad: number) => `${good} taken, ${bad} refused.`,
  },
  ru: {
    title: 'Импорт',
    choose: 'Файл JSON, например сохранённый экспорт',
    noList: 'В этом файле нет списка объектов.',
    count: (count: number) => `В файле: ${count}.`,
    replace: 'Заменять существующие',
    go: 'Импортировать',
    stop: 'Остановить',
    row: 'Строка',
    what: 'Что',
    result: 'Итог',
    made: 'создано',
    replaced: 'заменено',
    refused: 'отказано',
    results: 'Итоги',
    sum: (good: number, bad: number) => `Принято: ${good}, отказано: ${bad}.`,
  },
});

type Outcome = 'made' | 'replaced' | Error;
type Result = { readonly at: number; readonly name: string; readonly outcome: Outcome };

/** The objects of a file; undefined when it is something else. */
const readRows = (text: string): Json[] | undefined => {
  try {
    const parsed: unknown = JSON.parse(text);
    const list = Array.isArray(parsed) ? parsed : [parsed];
    return list.every(isObject) ? list : undefined;
  } catch {
    return undefined;
  }
};

const importOne = async (api: Api, collection: Collection, row: Json, replaces: boolean): Promise<Outcome> => {
  try {
    await api.request(collection.path, { method: 'POST', body: row });
    return 'made';
  } catch (thrown) {
    const id = row[collection.idField];
    const isThere = thrown instanceof ApiError && thrown.status === 409 && typeof id === 'string';
    if (!isThere || !replaces) return thrown as Error;
    return await api.request(`${collection.path}/${encodeURIComponent(id)}`, { method: 'PUT', body: row }).then(
      () => 'replaced' as const,
      (error: Error) => error,
    );
  }
};

const NAMES = ['login', 'code', 'name', 'displayname', 'classname', 'instance'];
const nameIn = (row: Json): string => {
  const name = NAMES.map((one) => row[one]).find((value) => typeof value === 'string' && value !== '');
  return typeof name === 'string' ? name : '';
};

type Props = { readonly collection: Collection; readonly onClose: () => void; readonly onImported: () => void };

export const ImportDialog = ({ collection, onClose, onImported }: Props) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { api } = useConsole();
  const [rows, setRows] = useState<readonly Json[]>();
  const [isWrong, setWrong] = useState(false);
  const [replaces, setReplaces] = useState(false);
  const [results, setResults] = useState<readonly Result[]>([]);
  const [isBusy, setBusy] = useState(false);
  const stopped = useRef(false);
  const choose = async (file: File | undefined): Promise<void> => {
    const found = file && readRows(await file.text());
    setRows(found);
    setResults([]);
    setWrong(file !== undefined && found === undefined);
  };
  const start = async (): Promise<void> => {
    setBusy(true);
    setResults([]);
    stopped.current = false;
    for (const [index, row] of (rows ?? []).entries()) {
      if (stopped.current) break;
      const outcome = await importOne(api, collection, row, replaces);
      setResults((before) => [...before, { at: index + 1, name: nameIn(row), outcome }]);
    }
    setBusy(false);
    onImported();
  };
  const close = (): void => {
    stopped.current = true;
    onClose();
  };
  return (
    <Dialog
      title={`${t.title}: ${nameOf(collection.name, language)}`}
      onClose={close}
      onSubmit={() => void start()}
      wide
      actions={
        isBusy ? (
          <button type="button" className="button" onClick={() => (stopped.current = true)}>
            {t.stop}
          </button>
        ) : (
          <button type="submit" className="button" disabled={!rows || rows.length === 0}>
            {t.go}
          </button>
        )
      }
    >
      <label className="field">
        <span>{t.choose}</span>
        <input
          type="file"
          className="file"
          accept="application/json,.json"
          disabled={isBusy}
          onChange={(event) => void choose(event.target.files?.[0])}
        />
      </label>
      {isWrong ? (
        <p className="fault" role="alert">
          {t.noList}
        </p>
      ) : null}
      {rows ? <p role="status">{t.count(rows.length)}</p> : null}
      {collection.canReplace ? (
        <CheckField label={t.replace} checked={replaces} disabled={isBusy} onChange={setReplaces} />
      ) : null}
      {results.length > 0 ? <Results results={results} total={rows?.length ?? 0} /> : null}
    </Dialog>
  );
};

const Results = ({ results, total }: { results: readonly Result[]; total: number }) => {
  const t = useTexts();
  const textOf = useFaultText();
  const bad = results.filter(({ outcome }) => typeof outcome !== 'string').length;
  return (
    <>
      {results.length < total ? <Progress label={t.title} percent={(100 * results.length) / total} /> : null}
      <p role="status">{t.sum(results.length - bad, bad)}</p>
      <Table
        label={t.results}
        rows={results}
        keyOf={({ at }) => String(at)}
        columns={[
          { key: 'at', label: t.row, number: true, render: ({ at }) => at },
          { key: 'name', label: t.what, render: ({ name }) => name },
          {
            key: 'outcome',
            label: t.result,
            grows: true,
            render: ({ outcome }) =>
              typeof outcome === 'string' ? (
                <Badge tone="good">{t[outcome]}</Badge>
              ) : (
                <>
                  <Badge tone="bad">{t.refused}</Badge> {textOf(outcome)}{' '}
                  <span className="mono faint">{outcome instanceof ApiError ? outcome.param : ''}</span>
                </>
              ),
          },
        ]}
      />
    </>
  );
};
