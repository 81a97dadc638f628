/** Speak and read: the microphone through a realtime session; afterwards the recording can be transcribed as any other. */
import { FileAudio, Mic, Square } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { SelectField } from '../shared/form.tsx';
import { formatClock } from '../shared/format.ts';
import { createTexts } from '../shared/i18n.tsx';
import { PageTitle } from '../shared/layout.tsx';
import { Fault } from '../shared/parts.tsx';
import { type LiveLine, type LiveSession, openLiveSession } from './live-session.ts';
import { type Microphone, openMicrophone, RATE } from './microphone.ts';
import { fieldsToSend, useOptions } from './options.tsx';
import { useModels, useStudio } from './studio.tsx';

const useTexts = createTexts({
  en: {
    title: 'Speak',
    intro: 'What you say is written down while you say it. The sound goes to this service only.',
    model: 'Model',
    chosen: 'As the service chooses',
    streaming: 'while you speak',
    whole: 'after each pause',
    start: 'Start recording',
    stop: 'Stop',
    starting: 'Opening the microphone…',
    level: 'Level',
    text: 'Text',
    nothing: 'Nothing was said yet.',
    refused: 'The microphone was not allowed.',
    absent: 'There is no microphone, or this page may not use one (browsers ask for https or localhost).',
    transcribe: 'Transcribe this recording',
  },
  ru: {
    title: 'Говорить',
    intro: 'Сказанное записывается по мере речи. Звук отправляется только в этот сервис.',
    model: 'Модель',
    chosen: 'По выбору сервиса',
    streaming: 'во время речи',
    whole: 'после каждой паузы',
    start: 'Начать запись',
    stop: 'Стоп',
    starting: 'Включение микрофона…',
    level: 'Уровень',
    text: 'Текст',
    nothing: 'Пока ничего не сказано.',
    refused: 'Доступ к микрофону не разрешён.',
    absent: 'Микрофона нет, или странице нельзя его использовать (нужен https или localhost).',
    transcribe: 'Расшифровать эту запись',
  },
});

type Phase = 'idle' | 'starting' | 'recording';

const useLive = (model: string) => {
  const t = useTexts();
  const { api, session } = useStudio();
  const [phase, setPhase] = useState<Phase>('idle');
  const [lines, setLines] = useState<readonly LiveLine[]>([]);
  const [fault, setFault] = useState('');
  const [recording, setRecording] = useState<File>();
  const meter = useRef<HTMLMeterElement>(null);
  const clock = useRef<HTMLSpanElement>(null);
  const open = useRef<{ microphone?: Microphone; live?: LiveSession }>({});

  const stop = (): void => {
    const { microphone, live } = open.current;
    open.current = {};
    if (microphone) setRecording(microphone.recorded());
    microphone?.stop();
    live?.finish();
    setPhase('idle');
  };
  const start = async (): Promise<void> => {
    setPhase('starting');
    setFault('');
    setLines([]);
    setRecording(undefined);
    try {
      // A refused socket tells a page nothing; an ordinary request shows whether the key is the reason.
      await api.json('/v1/models');
      let heard = 0;
      open.current.live = await openLiveSession({
        key: session.readKey(),
        model,
        onLines: setLines,
        onFault: setFault,
        onClosed: () => open.current.live && stop(),
      });
      open.current.microphone = await openMicrophone((samples, level) => {
        open.current.live?.send(samples);
        heard += samples.length;
        if (meter.current) meter.current.value = level;
        if (clock.current) clock.current.textContent = formatClock(heard / RATE);
      });
      setPhase('recording');
    } catch (thrown) {
      open.current.live?.close();
      open.current = {};
      setPhase('idle');
      setFault(faultOf(thrown, t));
    }
  };
  // Whoever leaves the page does not want to be heard any longer.
  useEffect(
    () => () => {
      const { microphone, live } = open.current;
      open.current = {};
      microphone?.stop();
      live?.close();
    },
    [],
  );
  return { phase, lines, fault, recording, meter, clock, start, stop };
};

const faultOf = (thrown: unknown, t: ReturnType<typeof useTexts>): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown.name === 'NotAllowedError') return t.refused;
  return thrown.name === 'NotFoundError' || thrown instanceof TypeError ? t.absent : thrown.message;
};

export const LivePage = () => {
  const t = useTexts();
  const models = useModels();
  const [model, setModel] = useState('');
  const live = useLive(model);
  const offered = (models.data ?? []).filter((one) => one.kind === 'asr' && one.problem === undefined);
  const choices = offered.map((one) => ({
    value: one.id,
    label: `${one.display_name} (${one.languages.join(', ')}; ${one.streaming ? t.streaming : t.whole})`,
  }));
  return (
    <>
      <PageTitle>{t.title}</PageTitle>
      <p className="faint">{t.intro}</p>
      <div className="stack">
        {models.error ? <Fault error={models.error} onRetry={models.reload} /> : null}
        <div className="card live-controls">
          <SelectField
            label={t.model}
            value={model}
            disabled={live.phase !== 'idle'}
            choices={[{ value: '', label: t.chosen }, ...choices]}
            onChange={setModel}
          />
          <RecordButton live={live} />
          {live.phase === 'recording' ? (
            <div className="row">
              <meter ref={live.meter} className="level" min={0} max={1} aria-label={t.level} />
              <span ref={live.clock} className="mono">
                0:00
              </span>
            </div>
          ) : null}
        </div>
        {live.fault ? <Fault error={new Error(live.fault)} /> : null}
        <Lines lines={live.lines} />
        {live.recording ? <TranscribeRecording recording={live.recording} /> : null}
      </div>
    </>
  );
};

const RecordButton = ({ live: { phase, start, stop } }: { live: ReturnType<typeof useLive> }) => {
  const t = useTexts();
  const isOn = phase === 'recording';
  const Icon = isOn ? Square : Mic;
  return (
    <button
      type="button"
      className={isOn ? 'button danger record' : 'button record'}
      disabled={phase === 'starting'}
      onClick={() => (isOn ? stop() : void start())}
    >
      <Icon aria-hidden />
      {phase === 'starting' ? t.starting : isOn ? t.stop : t.start}
    </button>
  );
};

const Lines = ({ lines }: { lines: readonly LiveLine[] }) => {
  const t = useTexts();
  return (
    <section className="card live" aria-label={t.text} aria-live="polite">
      {lines.length === 0 ? <p className="faint">{t.nothing}</p> : null}
      {lines.map((line) => (
        <p key={line.id} data-final={line.isFinal}>
          {line.text}
        </p>
      ))}
    </section>
  );
};

const TranscribeRecording = ({ recording }: { recording: File }) => {
  const t = useTexts();
  const { submissions } = useStudio();
  const models = useModels();
  const [options] = useOptions();
  const [, navigate] = useLocation();
  const send = async (): Promise<void> => {
    const job = await submissions.submit([recording], fieldsToSend(options, models.data ?? []));
    navigate(job ? `/jobs/${job.id}` : '/');
  };
  return (
    <div className="row">
      <button type="button" className="button quiet" onClick={() => void send()}>
        <FileAudio aria-hidden />
        {t.transcribe}
      </button>
    </div>
  );
};
