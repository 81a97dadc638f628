/** The options of a transcription as this service offers them; what is left as it is is not sent. */
import type { ModelInfo } from '@parley/speech/core/types.ts';
import { useMemo } from 'react';
import { CheckField, type Choice, SelectField, TextArea, TextField } from '../shared/form.tsx';
import { useStored } from '../shared/hooks.ts';
import { useLanguage } from '../shared/i18n.tsx';
import { type ConfigTree, configured } from './config.ts';
import { type Offer, offerOf } from './offer.ts';
import { useOptionsTexts } from './options-texts.ts';
import type { Fields } from './submissions.ts';

type Change = (name: string, value: string) => void;
type Part = {
  readonly fields: Fields;
  readonly change: Change;
  readonly offer: Offer;
  readonly config: ConfigTree | undefined;
};

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string');

/** The fields to send, and how they are changed; this browser remembers them. */
export const useOptions = (): [Fields, Change, () => void] => {
  const [fields, store] = useStored<Fields>('parley-options', {}, isFields);
  return [fields, (name, value) => store({ ...fields, [name]: value }), () => store({})];
};

type OptionsProps = {
  readonly models: readonly ModelInfo[];
  readonly config: ConfigTree | undefined;
  readonly options: ReturnType<typeof useOptions>;
};

export const Options = ({ models, config, options: [fields, change, reset] }: OptionsProps) => {
  const t = useOptionsTexts();
  const { model = '', language = '' } = fields;
  const offer = useMemo(() => offerOf(models, { model, language }), [models, model, language]);
  const part: Part = { fields, change, offer, config };
  return (
    <div className="options">
      <div className="row between">
        <h2>{t.title}</h2>
        <button type="button" className="link small" onClick={reset}>
          {t.reset}
        </button>
      </div>
      <div className="grid">
        <ModelChoice {...part} />
        <LanguageChoice {...part} />
        <Speakers {...part} />
      </div>
      <details>
        <summary>{t.more}</summary>
        <div className="grid">
          <Switches {...part} />
          <Decoding {...part} />
        </div>
      </details>
    </div>
  );
};

const ModelChoice = ({ fields, change, offer }: Part) => {
  const t = useOptionsTexts();
  const standard = offer.models.find((one) => one.default);
  const choices: Choice[] = [
    { value: '', label: standard ? t.chosen(standard.display_name) : t.chosenByServer },
    ...offer.models.map((one) => ({ value: one.id, label: `${one.display_name} (${one.languages.join(', ')})` })),
  ];
  const known = choices.some((one) => one.value === fields.model) ? (fields.model ?? '') : '';
  return <SelectField label={t.model} value={known} choices={choices} onChange={(value) => change('model', value)} />;
};

const LanguageChoice = ({ fields, change, offer }: Part) => {
  const t = useOptionsTexts();
  const { language } = useLanguage();
  const names = new Intl.DisplayNames(language, { type: 'language' });
  const choices: Choice[] = [
    { value: '', label: t.fromModel },
    ...offer.languages.map((one) => ({ value: one, label: `${names.of(one) ?? one} (${one})` })),
  ];
  return (
    <SelectField
      label={t.language}
      value={fields.language ?? ''}
      choices={choices}
      onChange={(value) => change('language', value)}
    />
  );
};

const MAX_SPEAKERS = 32;

const Speakers = ({ fields, change, offer }: Part) => {
  const t = useOptionsTexts();
  const isOn = fields.diarize === 'true' && offer.canDiarize;
  const counts = Array.from({ length: MAX_SPEAKERS }, (_, at) => ({ value: String(at + 1), label: String(at + 1) }));
  return (
    <div className="stack tight">
      <CheckField
        label={t.speakers}
        hint={offer.canDiarize ? t.speakersHint : t.noSpeakers}
        checked={isOn}
        disabled={!offer.canDiarize}
        onChange={(checked) => change('diarize', checked ? 'true' : '')}
      />
      {isOn ? (
        <SelectField
          label={t.count}
          value={fields.num_speakers ?? ''}
          choices={[{ value: '', label: t.unknown }, ...counts]}
          onChange={(value) => change('num_speakers', value)}
        />
      ) : null}
    </div>
  );
};

const Switches = ({ fields, change, offer, config }: Part) => {
  const t = useOptionsTexts();
  const onOff = (name: string, label: string, setting: string, hint?: string) => {
    const known = configured(config, setting);
    const standard = typeof known === 'boolean' ? t.configured(known ? t.on : t.off) : t.asConfigured;
    const choices = [
      { value: '', label: standard },
      { value: 'true', label: t.on, disabled: hint !== undefined },
      { value: 'false', label: t.off },
    ];
    const value = fields[name] ?? '';
    return (
      <SelectField label={label} hint={hint} value={value} choices={choices} onChange={(next) => change(name, next)} />
    );
  };
  const modes = t.channelModes;
  const mode = configured(config, 'audio.channel_mode');
  const channels: Choice[] = [
    {
      value: '',
      label: typeof mode === 'string' ? t.configured(modes[mode as keyof typeof modes] ?? mode) : t.asConfigured,
    },
    ...Object.entries(modes).map(([value, label]) => ({ value, label })),
  ];
  return (
    <>
      {onOff(
        'punctuate',
        t.punctuate,
        'postproc.punctuation.enabled',
        offer.canPunctuate ? undefined : t.noPunctuation,
      )}
      {onOff('itn', t.itn, 'postproc.itn.enabled', offer.canItn ? undefined : t.noItn)}
      {onOff('vad', t.vad, 'vad.enabled')}
      <SelectField
        label={t.channels}
        value={fields.channel_mode ?? ''}
        choices={channels}
        onChange={(value) => change('channel_mode', value)}
      />
    </>
  );
};

const Decoding = ({ fields, change, offer }: Part) => {
  const t = useOptionsTexts();
  const methods: Choice[] = [
    { value: '', label: t.modelsOwn },
    { value: 'greedy_search', label: t.greedy },
    { value: 'modified_beam_search', label: t.beam },
  ];
  return (
    <>
      <TextArea
        label={t.hotwords}
        hint={offer.canFavour ? t.hotwordsHint : t.noHotwords}
        rows={2}
        value={fields.hotwords ?? ''}
        disabled={!offer.canFavour}
        onChange={(value) => change('hotwords', value)}
      />
      <TextField
        label={t.score}
        type="number"
        min={0}
        max={10}
        step={0.1}
        placeholder="1.5"
        value={fields.hotwords_score ?? ''}
        disabled={!offer.canFavour}
        onChange={(value) => change('hotwords_score', value)}
      />
      <SelectField
        label={t.decoding}
        value={fields.decoding_method ?? ''}
        choices={methods}
        onChange={(value) => change('decoding_method', value)}
      />
      {fields.decoding_method === 'modified_beam_search' ? (
        <TextField
          label={t.paths}
          type="number"
          min={1}
          max={32}
          placeholder="4"
          value={fields.max_active_paths ?? ''}
          onChange={(value) => change('max_active_paths', value)}
        />
      ) : null}
    </>
  );
};

/** The fields that mean something for what is installed; a choice that is not offered any more is not sent. */
export const fieldsToSend = (fields: Fields, models: readonly ModelInfo[]): Fields => {
  const offer = offerOf(models, { model: fields.model ?? '', language: fields.language ?? '' });
  const isSent = (name: string): boolean => {
    if (name === 'model') return offer.model !== undefined;
    if (name === 'diarize') return offer.canDiarize;
    if (name === 'num_speakers') return offer.canDiarize && fields.diarize === 'true';
    if (name === 'hotwords_score') return (fields.hotwords ?? '') !== '';
    if (name === 'max_active_paths') return fields.decoding_method === 'modified_beam_search';
    return true;
  };
  const sent = Object.entries(fields).filter(([name, value]) => value !== '' && isSent(name));
  // Words may stand one a line; the interface wants commas.
  return Object.fromEntries(
    sent.map(([name, value]) => [name, name === 'hotwords' ? value.replaceAll('\n', ',') : value]),
  );
};
