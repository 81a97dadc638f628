/** The processes of the installation as they are now; their log levels, and their end. */
import { useNotify, useQuestion } from '../../shared/dialog.tsx';
import { formatClock, formatInstant } from '../../shared/format.ts';
import { useInterval, useLoaded } from '../../shared/hooks.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { PageTitle } from '../../shared/layout.tsx';
import { Badge, Loading } from '../../shared/parts.tsx';
import { type Column, Table } from '../../shared/table.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText, useRun } from '../faults.tsx';

const useTexts = createTexts({
  en: {
    title: 'Nodes',
    name: 'Node',
    type: 'Kind',
    types: { role: 'service', supervisor: 'supervisor' },
    status: 'State',
    states: { active: 'running', inactive: 'not running' },
    server: 'Server',
    up: 'Running for',
    since: 'Since',
    level: 'Log level',
    levelOf: (name: string) => `Log level of ${name}`,
    end: 'Restart',
    endOf: (name: string) => `Restart ${name}`,
    endTitle: 'Restart this node?',
    endText: (name: string) => `${name} ends what it does and is started again by its supervisor.`,
    ended: (name: string) => `${name} is being restarted.`,
    changed: (name: string, level: string) => `${name} logs at ${level}.`,
    none: 'No nodes.',
  },
  ru: {
    title: 'Узлы',
    name: 'Узел',
    type: 'Вид',
    types: { role: 'служба', supervisor: 'надзор' },
    status: 'Состояние',
    states: { active: 'работает', inactive: 'не работает' },
    server: 'Сервер',
    up: 'Работает',
    since: 'С',
    level: 'Уровень журнала',
    levelOf: (name: string) => `Уровень журнала: ${name}`,
    end: 'Перезапустить',
    endOf: (name: string) => `Перезапустить ${name}`,
    endTitle: 'Перезапустить узел?',
    endText: (name: string) => `${name} завершит работу и будет снова запущен своим надзором.`,
    ended: (name: string) => `${name} перезапускается.`,
    changed: (name: string, level: string) => `${name}: уровень ${level}.`,
    none: 'Узлов нет.',
  },
});

const PATH = '/rest/v1/master/nodes';
const MASK = 'name,fullName,ipAddress,site,server,type,dtStart,upTimeSec,status,maxLogLevel,roles,reason';
const EVERY_MS = 2000;
const LEVELS = ['none', 'crash', 'error', 'warning', 'info', 'trace', 'debug', 'highest'] as const;

type Node = {
  readonly name: string;
  readonly fullName: string;
  readonly server: string;
  readonly type: 'role' | 'supervisor';
  readonly status: 'active' | 'inactive';
  readonly dtStart: string | null;
  readonly upTimeSec: number;
  readonly maxLogLevel: string;
  readonly reason?: string;
};

const pathOf = ({ fullName }: Node): string => `${PATH}/${encodeURIComponent(fullName)}`;

export const NodesPage = () => {
  const t = useTexts();
  const { api } = useConsole();
  const notify = useNotify();
  const [question, ask] = useQuestion();
  const [error, isBusy, run] = useRun();
  const nodes = useLoaded((signal) => api.json<Node[]>(`${PATH}?mask=${MASK}&order=fullName`, { signal }), [api]);
  useInterval(nodes.reload, EVERY_MS, !isBusy && !nodes.isLoading);
  const setLevel = (node: Node, maxLogLevel: string): void =>
    void run(async () => {
      await api.request(pathOf(node), { method: 'PATCH', body: { maxLogLevel } });
      notify({ kind: 'good', text: t.changed(node.name, maxLogLevel) });
      nodes.reload();
    });
  const end = (node: Node): void =>
    void run(async () => {
      const asked = { title: t.endTitle, text: t.endText(node.fullName), confirm: t.end, danger: true };
      if (!(await ask(asked))) return;
      await api.request(pathOf(node), { method: 'DELETE' });
      notify({ kind: 'info', text: t.ended(node.name) });
    });
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <div className="stack">
        {error ? <FaultText error={error} /> : null}
        {nodes.error ? <FaultText error={nodes.error} /> : null}
        {nodes.data ? <NodeTable nodes={nodes.data} isBusy={isBusy} onLevel={setLevel} onEnd={end} /> : <Loading />}
        {question}
      </div>
    </>
  );
};

type TableProps = {
  readonly nodes: readonly Node[];
  readonly isBusy: boolean;
  readonly onLevel: (node: Node, level: string) => void;
  readonly onEnd: (node: Node) => void;
};

const NodeTable = ({ nodes, isBusy, onLevel, onEnd }: TableProps) => {
  const t = useTexts();
  const { language } = useLanguage();
  const columns: Column<Node>[] = [
    { key: 'name', label: t.name, render: ({ name }) => name },
    {
      key: 'status',
      label: t.status,
      render: ({ status, reason }) => (
        <span>
          <Badge tone={status === 'active' ? 'good' : 'bad'}>{t.states[status]}</Badge> {reason}
        </span>
      ),
    },
    { key: 'type', label: t.type, render: ({ type }) => t.types[type] },
    { key: 'server', label: t.server, render: ({ server }) => server },
    { key: 'since', label: t.since, render: ({ dtStart }) => (dtStart ? formatInstant(dtStart, language) : '') },
    {
      key: 'up',
      label: t.up,
      number: true,
      render: ({ upTimeSec, status }) => (status === 'active' ? formatClock(upTimeSec) : ''),
    },
    { key: 'level', label: t.level, render: (node) => <Level node={node} isBusy={isBusy} onLevel={onLevel} /> },
    { key: 'end', label: t.end, bare: true, render: (node) => <End node={node} isBusy={isBusy} onEnd={onEnd} /> },
  ];
  return (
    <Table label={t.title} rows={nodes} keyOf={({ fullName }) => fullName} stacks empty={t.none} columns={columns} />
  );
};

const Level = ({ node, isBusy, onLevel }: { node: Node } & Pick<TableProps, 'isBusy' | 'onLevel'>) => {
  const t = useTexts();
  const { may } = useConsole();
  return (
    <select
      aria-label={t.levelOf(node.fullName)}
      className="level"
      value={node.maxLogLevel}
      disabled={isBusy || node.status !== 'active' || !may('PATCH', pathOf(node))}
      onChange={(event) => onLevel(node, event.target.value)}
    >
      {LEVELS.map((level) => (
        <option key={level}>{level}</option>
      ))}
    </select>
  );
};

const End = ({ node, isBusy, onEnd }: { node: Node } & Pick<TableProps, 'isBusy' | 'onEnd'>) => {
  const t = useTexts();
  const { may } = useConsole();
  if (!may('DELETE', pathOf(node))) return null;
  return (
    <button
      type="button"
      className="button quiet small"
      aria-label={t.endOf(node.fullName)}
      disabled={isBusy}
      onClick={() => onEnd(node)}
    >
      {t.end}
    </button>
  );
};
