/** The service's settings, to look at: values, and where each came from. Secrets never come this far. */
import { useState } from 'react';
import { TextField } from '../shared/form.tsx';
import { createTexts } from '../shared/i18n.tsx';
import { PageTitle } from '../shared/layout.tsx';
import { Badge, Fault, Loading } from '../shared/parts.tsx';
import { type Column, Table } from '../shared/table.tsx';
import { type ConfigTree, useConfig } from './config.ts';

const useTexts = createTexts({
  en: {
    title: 'Settings',
    intro: 'What the service runs with. It is changed in parley.yaml, the environment or by flags.',
    forbidden: 'Only administrative keys may see the settings.',
    search: 'Search',
    name: 'Setting',
    value: 'Value',
    source: 'From',
    sources: { default: 'default', file: 'file', env: 'environment', flag: 'flag' } as Record<string, string>,
    none: 'No setting of this name.',
    empty: 'empty',
  },
  ru: {
    title: 'Настройки',
    intro: 'С чем работает сервис. Меняется в parley.yaml, переменных среды или флагами.',
    forbidden: 'Настройки видны только административным ключам.',
    search: 'Поиск',
    name: 'Настройка',
    value: 'Значение',
    source: 'Откуда',
    sources: { default: 'по умолчанию', file: 'файл', env: 'среда', flag: 'флаг' } as Record<string, string>,
    none: 'Нет такой настройки.',
    empty: 'пусто',
  },
});

type Row = { readonly name: string; readonly value: string; readonly source: string };

const SOURCES = '_sources';

const rowsOf = (tree: ConfigTree): Row[] => {
  const sources = (tree[SOURCES] ?? {}) as Record<string, string>;
  const walk = (node: unknown, name: string): Row[] => {
    const isBranch = typeof node === 'object' && node !== null && !Array.isArray(node);
    if (!isBranch || sources[name] !== undefined) return [{ name, value: textOf(node), source: sources[name] ?? '' }];
    return Object.entries(node).flatMap(([key, child]) => walk(child, name === '' ? key : `${name}.${key}`));
  };
  return Object.entries(tree).flatMap(([key, child]) => (key === SOURCES ? [] : walk(child, key)));
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export const SettingsPage = () => {
  const t = useTexts();
  const config = useConfig();
  const [text, setText] = useState('');
  const needle = text.trim().toLowerCase();
  const columns: Column<Row>[] = [
    { key: 'name', label: t.name, render: ({ name }) => <span className="mono">{name}</span> },
    {
      key: 'value',
      label: t.value,
      render: ({ value }) =>
        value === '' ? <span className="faint">{t.empty}</span> : <span className="value">{value}</span>,
    },
    {
      key: 'source',
      label: t.source,
      render: ({ source }) => (
        <Badge tone={source === 'default' ? 'plain' : 'accent'}>{t.sources[source] ?? source}</Badge>
      ),
    },
  ];
  const rows = config.data ? rowsOf(config.data).filter(({ name }) => name.toLowerCase().includes(needle)) : [];
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <div className="stack">
        <p className="faint">{t.intro}</p>
        {config.error ? <Fault error={config.error} onRetry={config.reload} /> : null}
        {config.isLoading && !config.data ? <Loading /> : null}
        {!config.isLoading && !config.error && !config.data ? <p className="warning-box">{t.forbidden}</p> : null}
        {config.data ? (
          <>
            <TextField label={t.search} type="search" value={text} onChange={setText} />
            <Table label={t.title} columns={columns} rows={rows} stacks keyOf={({ name }) => name} empty={t.none} />
          </>
        ) : null}
      </div>
    </>
  );
};
