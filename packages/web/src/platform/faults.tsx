/** What the platform refused, told to people in their language; and the state of a request that somebody asked for. */
import { CircleAlert } from 'lucide-react';
import { useCallback, useState } from 'react';
import { ApiError, isAbort } from '../shared/api.ts';
import { createTexts, useLanguage } from '../shared/i18n.tsx';
import { isObject } from './data/schema.ts';

const useTexts = createTexts({
  en: {
    wrong: 'Domain, login and password do not go together.',
    over: 'Sign in first.',
    forbidden: 'Your roles do not allow this.',
    covered: 'Your own roles do not reach as far as what this would give.',
    missing: 'There is no such thing any more.',
    exists: 'There is one with this value already.',
    changed: 'Somebody changed it meanwhile. Close this and open it anew.',
    many: (seconds: string) => `Too many attempts. Try again in ${seconds} seconds.`,
    away: 'The platform cannot be reached. Try again.',
    failed: 'The platform failed at this. Its log tells more.',
    licence: 'The licence allows no more of these.',
    request: 'Request',
  },
  ru: {
    wrong: 'Неверное сочетание домена, логина и пароля.',
    over: 'Сначала войдите.',
    forbidden: 'Ваши роли этого не разрешают.',
    covered: 'Ваши роли не охватывают того, что это даёт.',
    missing: 'Этого больше нет.',
    exists: 'С таким значением уже есть запись.',
    changed: 'Это уже изменил кто-то другой. Закройте и откройте заново.',
    many: (seconds: string) => `Слишком много попыток. Повторите через ${seconds} с.`,
    away: 'Платформа недоступна. Повторите.',
    failed: 'На платформе случилась ошибка. Подробности в её журнале.',
    licence: 'Лицензия больше не позволяет.',
    request: 'Запрос',
  },
});

/** `error_details` of a refusal. */
export const detailsOf = (error: Error): Record<string, unknown> => {
  const body = error instanceof ApiError ? error.body : undefined;
  return isObject(body) && isObject(body.error_details) ? body.error_details : {};
};

/** Reasons the platform gives for a field, in Russian; English comes from it. */
const REASONS_RU: readonly (readonly [RegExp, string])[] = [
  [/^required$/, 'обязательно'],
  [/^must be text$/, 'должно быть текстом'],
  [/^must be a uuid$/, 'должно быть UUID'],
  [/^must be a whole number$/, 'должно быть целым числом'],
  [/^must be at most (\d+) characters$/, 'не длиннее $1 знаков'],
  [/^must be between (\S+) and (\S+)$/, 'должно быть от $1 до $2'],
  [/^has a form that is not allowed$/, 'такая форма не допускается'],
  [/^cannot be changed$/, 'нельзя изменить'],
  [/^referenced$/, 'на него ссылаются'],
  [/^unknown role$/, 'нет такой роли'],
  [/^makes a circle$/, 'получается круг'],
  [/^not covered by your own roles$/, 'шире ваших собственных ролей'],
];

type Texts = ReturnType<typeof useTexts>;

/** What a status alone says; undefined where the platform's own words say more. */
const textOfStatus = ({ status, code, message }: ApiError, t: Texts): string | undefined => {
  if (status === 401) return message.startsWith('Wrong combination') ? t.wrong : t.over;
  // The invitations have codes of their own under this status.
  if (status === 412) return code === '1412' ? t.changed : undefined;
  return { 403: t.forbidden, 404: t.missing, 409: t.exists, 500: t.failed }[status];
};

/** `(error) => text`. */
export const useFaultText = (): ((error: Error) => string) => {
  const t = useTexts();
  const { language } = useLanguage();
  return useCallback(
    (error) => {
      if (!(error instanceof ApiError)) return error.message;
      const { reason, retry_after } = detailsOf(error);
      if (error.code === 'unreachable') return t.away;
      if (reason === 'license') return t.licence;
      if (reason === 'not covered by your own roles') return t.covered;
      if (error.status === 429) return t.many(String(retry_after ?? '?'));
      const told = typeof reason === 'string' ? sentence(reasonIn(reason, language)) : undefined;
      return textOfStatus(error, t) ?? told ?? error.message;
    },
    [t, language],
  );
};

const reasonIn = (reason: string, language: string): string => {
  if (language !== 'ru') return reason;
  const [pattern, text] = REASONS_RU.find(([each]) => each.test(reason)) ?? [];
  return pattern ? reason.replace(pattern, text!) : reason;
};

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

/** The field a refusal names: `opts.roles` of `opts.roles[0]`. */
export const fieldOf = (error: Error): string | undefined =>
  error instanceof ApiError ? error.param?.replace(/\[.*$/, '') : undefined;

export const FaultText = ({ error, field }: { error: Error; field?: string }) => {
  const t = useTexts();
  const textOf = useFaultText();
  const requestId = error instanceof ApiError && error.status >= 500 ? error.requestId : undefined;
  return (
    <div className="fault" role="alert">
      <CircleAlert aria-hidden />
      <div>
        <p>
          {field ? <span className="mono">{field}: </span> : null}
          {textOf(error)}
        </p>
        {requestId ? (
          <p className="faint small">
            {t.request} {requestId}
          </p>
        ) : null}
      </div>
    </div>
  );
};

/** `[error, isBusy, run]`: runs what a person asked for, once at a time, and keeps what went wrong. */
export const useRun = (): [Error | undefined, boolean, (task: () => Promise<void>) => Promise<void>] => {
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const run = useCallback(async (task: () => Promise<void>) => {
    setBusy(true);
    setError(undefined);
    try {
      await task();
    } catch (thrown) {
      if (!isAbort(thrown)) setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
    } finally {
      setBusy(false);
    }
  }, []);
  return [error, isBusy, run];
};
