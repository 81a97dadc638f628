/** Something new that has an editor of its own: what it cannot be without is asked, then it is made and opened. */
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../../shared/dialog.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import { FaultText, useRun } from '../faults.tsx';

const useTexts = createTexts({ en: { create: 'Create' }, ru: { create: 'Создать' } });

type Props = {
  readonly title: string;
  /** `design/classes`: its place in the console and in the interface. */
  readonly collection: string;
  /** What is posted, asked when the form is sent. */
  readonly body: () => object;
  readonly children: ReactNode;
};

export const NewDialog = ({ title, collection, body, children }: Props) => {
  const t = useTexts();
  const { api } = useConsole();
  const [, goTo] = useLocation();
  const [error, isBusy, run] = useRun();
  const create = async (): Promise<void> => {
    const made = await api.json<{ id: string }>(`/rest/v1/${collection}`, { method: 'POST', body: body() });
    goTo(`/${collection}/${made.id}`);
  };
  return (
    <Dialog
      title={title}
      onClose={() => goTo(`/${collection}`)}
      onSubmit={() => void run(create)}
      actions={
        <button type="submit" className="button" disabled={isBusy}>
          {t.create}
        </button>
      }
    >
      {error ? <FaultText error={error} /> : null}
      {children}
    </Dialog>
  );
};
