/** Ways from an item to what belongs to it: its history, its sessions, what it may do, an invitation. */
import { Activity, History, MailPlus, ShieldCheck } from 'lucide-react';
import { Link } from 'wouter';
import { useNotify } from '../../shared/dialog.tsx';
import { formatInstant } from '../../shared/format.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { type Json, valueAt } from './schema.ts';

const useTexts = createTexts({
  en: {
    journal: 'Journal',
    sessions: 'Sessions',
    access: 'What may they do?',
    invite: 'Send an invitation',
    invited: 'The invitation is on its way.',
    changed: (when: string) => `Changed ${when}`,
  },
  ru: {
    journal: 'Журнал',
    sessions: 'Сеансы',
    access: 'Что разрешено?',
    invite: 'Отправить приглашение',
    invited: 'Приглашение отправлено.',
    changed: (when: string) => `Изменено ${when}`,
  },
});

type Props = { readonly collection: string; readonly item: Json; readonly id: string };

export const Related = ({ collection, item, id }: Props) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { api, may } = useConsole();
  const notify = useNotify();
  const [error, isBusy, run] = useRun();
  const invite = async (): Promise<void> => {
    await api.request('/rest/v1/iam/invites', { method: 'POST', body: { userid: id } });
    notify({ kind: 'good', text: t.invited });
  };
  const changed = valueAt(item, 'ext.lwt');
  const isUser = collection === 'iam/users';
  const journal = new URLSearchParams({ objtype: collection, objid: id });
  return (
    <>
      <div className="row related">
        {typeof changed === 'string' ? (
          <span className="faint small">{t.changed(formatInstant(changed, language))}</span>
        ) : null}
        {may('GET', 'journal/changes') ? (
          <Link href={`/journal?${journal}`} className="button quiet small">
            <History aria-hidden /> {t.journal}
          </Link>
        ) : null}
        {isUser && may('GET', 'iam/sessions') ? (
          <Link href={`/sessions?user_id=${id}`} className="button quiet small">
            <Activity aria-hidden /> {t.sessions}
          </Link>
        ) : null}
        {isUser && may('GET', `domain/users_caches/${id}`) ? (
          <Link href={`/access?user=${id}`} className="button quiet small">
            <ShieldCheck aria-hidden /> {t.access}
          </Link>
        ) : null}
        {isUser && may('POST', 'iam/invites') ? (
          <button type="button" className="button quiet small" disabled={isBusy} onClick={() => void run(invite)}>
            <MailPlus aria-hidden /> {t.invite}
          </button>
        ) : null}
      </div>
      {error ? <FaultText error={error} /> : null}
    </>
  );
};
