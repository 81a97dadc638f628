/** The licence of the installation: what is in force and how much of it is used, and taking a new one. */
import { Download } from 'lucide-react';
import { useState } from 'react';
import { ApiError } from '../../shared/api.ts';
import { CheckField } from '../../shared/form.tsx';
import { formatInstant, formatNumber } from '../../shared/format.ts';
import { useLoaded } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Badge, Empty, Loading } from '../../shared/parts.tsx';
import { saveFile } from '../../shared/save-file.ts';
import { Table } from '../../shared/table.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { LicenceForm } from './licence-form.tsx';

const useTexts = createTexts({
  en: {
    title: 'Licence',
    none: 'There is no licence: nothing is limited.',
    number: 'Number',
    issuer: 'Issued by',
    issued: 'Issued',
    not_before: 'Valid from',
    expires: 'Valid until',
    over: 'over',
    products: 'Products',
    asIssued: 'As it was issued, without its conditions',
    limits: 'Limits',
    item: 'What',
    limit: 'At most',
    used: 'There are',
    unlimited: 'any number',
    full: 'full',
    items: {
      domains: 'Domains',
      svcscripts: 'Service scripts',
      webservice_public: 'Public integration points',
      webservice_subscr: 'Other integration points',
    } as Readonly<Record<string, string>>,
    switches: 'Functions',
    on: 'on',
    off: 'off',
    vendor: 'Download what the vendor needs',
    vendorHint: 'A licence is made for one installation: send this file to the vendor.',
  },
  ru: {
    title: 'Лицензия',
    none: 'Лицензии нет: ничто не ограничено.',
    number: 'Номер',
    issuer: 'Кем выдана',
    issued: 'Выдана',
    not_before: 'Действует с',
    expires: 'Действует до',
    over: 'истекла',
    products: 'Продукты',
    asIssued: 'Как выдана, без её условий',
    limits: 'Ограничения',
    item: 'Что',
    limit: 'Не более',
    used: 'Сейчас',
    unlimited: 'сколько угодно',
    full: 'исчерпано',
    items: {
      domains: 'Домены',
      svcscripts: 'Сценарии',
      webservice_public: 'Открытые точки интеграции',
      webservice_subscr: 'Прочие точки интеграции',
    } as Readonly<Record<string, string>>,
    switches: 'Функции',
    on: 'включено',
    off: 'выключено',
    vendor: 'Скачать данные для поставщика',
    vendorHint: 'Лицензия выдаётся на одну установку: отправьте этот файл поставщику.',
  },
});

const PATH = '/rest/v1/master/license';
const COUNTERS = '/rest/v1/domain/settings/license_ownership';

type Licence = {
  readonly products: string;
  readonly dql: Readonly<Record<string, number>>;
  readonly sqf: Readonly<Record<string, boolean>>;
  readonly ext: Readonly<Record<string, string>>;
};
type Counts = Readonly<Record<string, number>>;

export const LicencePage = () => {
  const t = useTexts();
  const { api, may } = useConsole();
  const [asIssued, setAsIssued] = useState(false);
  const [error, isBusy, run] = useRun();
  const licence = useLoaded(
    async (signal): Promise<Licence | null> => {
      try {
        return await api.json<Licence>(asIssued ? `${PATH}?file=true` : PATH, { signal });
      } catch (thrown) {
        // None is what every installation begins with.
        if (thrown instanceof ApiError && thrown.status === 404) return null;
        throw thrown;
      }
    },
    [api, asIssued],
  );
  const counts = useLoaded(
    async (signal) => (may('GET', COUNTERS) ? (await api.json<{ value: Counts }>(COUNTERS, { signal })).value : {}),
    [api, may],
  );
  const saveAddressee = async (): Promise<void> => {
    const addressee = await api.json<object>(`${PATH}/installation`);
    saveFile('installation.json', JSON.stringify(addressee, null, 2));
  };
  const reload = (): void => {
    licence.reload();
    counts.reload();
  };
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <div className="stack">
        {licence.error ? <FaultText error={licence.error} /> : null}
        {licence.data === undefined && !licence.error ? <Loading /> : null}
        {licence.data === null ? <Empty title={t.none} /> : null}
        {licence.data ? (
          <>
            <Facts licence={licence.data} />
            <CheckField label={t.asIssued} checked={asIssued} onChange={setAsIssued} />
          </>
        ) : null}
        {licence.data !== undefined ? <Limits limits={licence.data?.dql ?? {}} counts={counts.data ?? {}} /> : null}
        {may('POST', PATH) ? <LicenceForm path={PATH} onInstalled={reload} /> : null}
        {may('GET', `${PATH}/installation`) ? (
          <div className="row">
            <button type="button" className="button quiet" disabled={isBusy} onClick={() => void run(saveAddressee)}>
              <Download aria-hidden /> {t.vendor}
            </button>
            <span className="faint small">{t.vendorHint}</span>
          </div>
        ) : null}
        {error ? <FaultText error={error} /> : null}
      </div>
    </>
  );
};

const Facts = ({ licence }: { licence: Licence }) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { ext, products, sqf } = licence;
  const instant = (name: string): string => formatInstant(ext[name] ?? '', language);
  const isOver = ext.expires !== undefined && Date.parse(ext.expires) <= Date.now();
  const lines: [label: string, value: string][] = [
    [t.products, products],
    [t.number, ext.number ?? ''],
    [t.issuer, ext.issuer ?? ''],
    [t.issued, instant('issued')],
    [t.not_before, ext.not_before ? instant('not_before') : ''],
    [t.expires, ext.expires ? instant('expires') : ''],
  ];
  return (
    <section className="card" aria-label={t.title}>
      <dl className="facts-list">
        {lines
          .filter(([, value]) => value !== '')
          .map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>
                {value} {label === t.expires && isOver ? <Badge tone="warn">{t.over}</Badge> : null}
              </dd>
            </div>
          ))}
        {Object.keys(sqf).length === 0 ? null : (
          <div>
            <dt>{t.switches}</dt>
            <dd className="row">
              {Object.entries(sqf).map(([name, isOn]) => (
                <Badge key={name} tone={isOn ? 'good' : 'plain'}>
                  {name}: {isOn ? t.on : t.off}
                </Badge>
              ))}
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
};

/** Limits beside what is counted; an item may have only one of the two. */
const Limits = ({ limits, counts }: { limits: Counts; counts: Counts }) => {
  const t = useTexts();
  const { language } = useLanguage();
  const rows = [...new Set([...Object.keys(counts), ...Object.keys(limits)])].map((item) => ({
    item,
    limit: limits[item],
    used: counts[item],
  }));
  const number = (value: number): string => formatNumber(value, language);
  return (
    <Table
      label={t.limits}
      rows={rows}
      keyOf={({ item }) => item}
      stacks
      columns={[
        { key: 'item', label: t.item, render: ({ item }) => t.items[item] ?? <span className="mono">{item}</span> },
        {
          key: 'used',
          label: t.used,
          number: true,
          render: ({ used, limit }) => (
            <span>
              {used !== undefined && limit !== undefined && used >= limit ? <Badge tone="warn">{t.full}</Badge> : null}{' '}
              {used === undefined ? '' : number(used)}
            </span>
          ),
        },
        {
          key: 'limit',
          label: t.limit,
          number: true,
          render: ({ limit }) => (limit === undefined ? <span className="faint">{t.unlimited}</span> : number(limit)),
        },
      ]}
    />
  );
};
