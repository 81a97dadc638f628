/** How runs end, and what they wrote into their log. */
import { createTexts } from '../../shared/i18n.tsx';
import { Badge, type Tone } from '../../shared/parts.tsx';
import type { LogLine, RunAnswer } from './trace.ts';

const useTexts = createTexts({
  en: {
    ended: { return: 'returned', form: 'waits for a form', refuse: 'refused', error: 'failed' },
    at: (ms: number) => `${ms} ms`,
  },
  ru: {
    ended: { return: 'завершён', form: 'ждёт форму', refuse: 'отказал', error: 'ошибка' },
    at: (ms: number) => `${ms} мс`,
  },
});

type Ending = RunAnswer['ended'];

const TONES: Readonly<Record<Ending, Tone>> = { return: 'good', form: 'accent', refuse: 'warn', error: 'bad' };

export const EndingBadge = ({ ended }: { ended: Ending }) => (
  <Badge tone={TONES[ended]}>{useTexts().ended[ended]}</Badge>
);

export const RunLog = ({ log }: { log: readonly LogLine[] }) => {
  const t = useTexts();
  return (
    <ul className="run-log small">
      {log.map(({ level, at_ms, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines of a log stay where they are.
        <li key={index}>
          <span className="faint">{t.at(at_ms)}</span> <Badge tone={level === 'error' ? 'bad' : 'plain'}>{level}</Badge>{' '}
          {text}
        </li>
      ))}
    </ul>
  );
};
