/** Small pieces both pages show: badges, progress, faults, empty places. */
import { CircleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { ApiError } from './api.ts';
import { createTexts } from './i18n.tsx';

const useTexts = createTexts({
  en: { unreachable: 'The service cannot be reached.', again: 'Try again', request: 'Request', loading: 'Loading…' },
  ru: { unreachable: 'Сервис недоступен.', again: 'Повторить', request: 'Запрос', loading: 'Загрузка…' },
});

export type Tone = 'plain' | 'accent' | 'good' | 'warn' | 'bad';

/** A state in a word. */
export const Badge = ({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) => (
  <span className={`badge ${tone}`}>{children}</span>
);

/** How far something is, 0 to 100; without `percent` only that something happens. */
export const Progress = ({ label, percent }: { label: string; percent?: number | undefined }) => (
  <progress className="progress" aria-label={label} max={100} {...(percent === undefined ? {} : { value: percent })} />
);

/** What went wrong, in words, with the request's id where there is one. */
export const Fault = ({ error, onRetry }: { error: Error; onRetry?: () => void }) => {
  const t = useTexts();
  const known = error instanceof ApiError ? error : undefined;
  return (
    <div className="fault" role="alert">
      <CircleAlert aria-hidden />
      <div>
        <p>{known?.code === 'unreachable' ? t.unreachable : error.message}</p>
        {known?.requestId ? (
          <p className="faint small">
            {t.request} {known.requestId}
          </p>
        ) : null}
      </div>
      {onRetry ? (
        <button type="button" className="button quiet" onClick={onRetry}>
          {t.again}
        </button>
      ) : null}
    </div>
  );
};

/** Where nothing is yet. */
export const Empty = ({ title, children }: { title: string; children?: ReactNode }) => (
  <div className="empty-place">
    <p>
      <strong>{title}</strong>
    </p>
    {children}
  </div>
);

export const Loading = () => {
  const t = useTexts();
  return (
    <p className="faint" role="status">
      {t.loading}
    </p>
  );
};
