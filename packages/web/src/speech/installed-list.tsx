/** Installed models with what administrators do to them: load, unload, pin, swap in another revision. */
import type { ModelInfo, ModelState } from '@parley/speech/core/types.ts';
import { useState } from 'react';
import { Dialog, useNotify, useQuestion } from '../shared/dialog.tsx';
import { SelectField } from '../shared/form.tsx';
import { formatBytes } from '../shared/format.ts';
import { useInterval } from '../shared/hooks.ts';
import { useLanguage } from '../shared/i18n.tsx';
import { Badge, Empty, type Tone } from '../shared/parts.tsx';
import { useModelsTexts } from './models-texts.ts';
import { useStudio } from './studio.tsx';

const TONES: Readonly<Partial<Record<ModelState, Tone>>> = {
  resident: 'good',
  pinned: 'accent',
  loading: 'warn',
  draining: 'warn',
};
/** Others load and use models too. */
const REFRESH_MS = 5000;

type ListProps = { readonly models: readonly ModelInfo[]; readonly onChanged: () => void };

export const InstalledList = ({ models, onChanged }: ListProps) => {
  const t = useModelsTexts();
  useInterval(onChanged, REFRESH_MS, true);
  if (models.length === 0) return <Empty title={t.noneInstalled} />;
  return (
    <ul className="models">
      {models.map((model) => (
        <ModelCard key={`${model.id}@${model.revision}`} model={model} onChanged={onChanged} />
      ))}
    </ul>
  );
};

const ModelCard = ({ model, onChanged }: { model: ModelInfo; onChanged: () => void }) => {
  const t = useModelsTexts();
  const { language } = useLanguage();
  const memory = model.rss_mb > 0 ? ` · ${t.memory} ${formatBytes(model.rss_mb * 2 ** 20, language)}` : '';
  return (
    <li className="card model">
      <div className="model-head">
        <h2>{model.display_name}</h2>
        <Badge tone={TONES[model.state] ?? 'plain'}>{t.states[model.state]}</Badge>
        {model.default ? <Badge tone="accent">{t.standard}</Badge> : null}
        {model.streaming ? <Badge>{t.live}</Badge> : null}
        {model.ref_count > 0 ? <Badge tone="warn">{t.inUse(model.ref_count)}</Badge> : null}
      </div>
      <p className="faint small">
        <span className="mono">
          {model.id}@{model.revision}
        </span>{' '}
        · {t.kinds[model.kind]} · {model.languages.join(', ')}
      </p>
      <p className="small">
        {t.size} {formatBytes(model.size_bytes, language)}
        {memory} · {model.license} ({t.commercial[model.commercial_use]})
      </p>
      {model.problem === undefined ? (
        <Operations model={model} onChanged={onChanged} />
      ) : (
        <p className="bad-text small">{model.problem}</p>
      )}
    </li>
  );
};

const Operations = ({ model, onChanged }: { model: ModelInfo; onChanged: () => void }) => {
  const t = useModelsTexts();
  const { api } = useStudio();
  const notify = useNotify();
  const [question, ask] = useQuestion();
  const [busy, setBusy] = useState('');
  const [isSwapping, setSwapping] = useState(false);
  const run = async (operation: string, fields: Readonly<Record<string, unknown>>): Promise<void> => {
    setBusy(operation);
    try {
      await api.request(`/api/v1/models/${encodeURIComponent(`${model.id}@${model.revision}`)}/${operation}`, {
        method: 'POST',
        body: fields,
      });
    } catch (thrown) {
      notify({ kind: 'bad', text: thrown instanceof Error ? thrown.message : String(thrown) });
    } finally {
      setBusy('');
      onChanged();
    }
  };
  const unload = async (): Promise<void> => {
    const force = model.pinned;
    if (force && !(await ask({ title: t.pinnedTitle, text: t.pinnedText, confirm: t.unload, danger: true }))) return;
    await run('unload', { force });
  };
  const button = (name: string, label: string, act: () => void) => (
    <button
      type="button"
      className="button quiet small"
      disabled={busy !== ''}
      aria-label={`${label}: ${model.display_name}`}
      onClick={act}
    >
      {busy === name ? '…' : label}
    </button>
  );
  // What helps other models is loaded by them.
  if (model.kind !== 'asr') return null;
  return (
    <div className="row">
      {model.resident
        ? button('unload', t.unload, () => void unload())
        : button('load', t.load, () => void run('load', {}))}
      {button('pin', model.pinned ? t.unpin : t.pin, () => void run('pin', { pinned: !model.pinned }))}
      {model.revisions.length > 1 ? button('reload', t.swap, () => setSwapping(true)) : null}
      {question}
      {isSwapping ? <SwapDialog model={model} onClose={() => setSwapping(false)} onChanged={onChanged} /> : null}
    </div>
  );
};

type SwapProps = { readonly model: ModelInfo; readonly onClose: () => void; readonly onChanged: () => void };

const SwapDialog = ({ model, onClose, onChanged }: SwapProps) => {
  const t = useModelsTexts();
  const { api } = useStudio();
  const notify = useNotify();
  const others = model.revisions.filter((one) => one !== model.revision);
  const [revision, setRevision] = useState(others.at(-1) ?? model.revision);
  const swap = (): void => {
    onClose();
    api
      .request(`/api/v1/models/${encodeURIComponent(model.id)}/reload`, { method: 'POST', body: { revision } })
      .catch((thrown: Error) => notify({ kind: 'bad', text: thrown.message }))
      .finally(onChanged);
  };
  return (
    <Dialog
      title={t.swapTitle}
      onClose={onClose}
      onSubmit={swap}
      actions={
        <button type="submit" className="button">
          {t.swap}
        </button>
      }
    >
      <p>{t.swapText}</p>
      <SelectField
        label={t.revision}
        value={revision}
        choices={model.revisions.map((value) => ({ value, label: value }))}
        onChange={setRevision}
      />
    </Dialog>
  );
};
