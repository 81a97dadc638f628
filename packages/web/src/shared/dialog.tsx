/**
 * Dialogs on the browser's own `<dialog>` (focus stays inside, Escape closes), a question before what cannot be undone, and
 * short notices that screen readers speak.
 */
import { X } from 'lucide-react';
import {
  createContext,
  type FormEvent,
  type ReactNode,
  useCallback,
  useContext,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { createTexts } from './i18n.tsx';

const useTexts = createTexts({
  en: { close: 'Close', cancel: 'Cancel', notices: 'Notices' },
  ru: { close: 'Закрыть', cancel: 'Отмена', notices: 'Сообщения' },
});

export type DialogProps = {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Makes the content a form; its submit button is in `actions`. */
  readonly onSubmit?: () => void;
  /** Buttons at the foot; a cancel button stands beside them. */
  readonly actions?: ReactNode;
  readonly wide?: boolean;
};

/** Shown as long as it is rendered. */
export const Dialog = ({ title, onClose, children, onSubmit, actions, wide = false }: DialogProps) => {
  const t = useTexts();
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Closed while it is still in the document: only then the focus goes back to where it came from.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (!dialog?.open) dialog?.showModal();
    return () => dialog?.close();
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog
      ref={ref}
      className={wide ? 'dialog dialog-wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <form onSubmit={submit}>
        <div className="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" className="icon-button" aria-label={t.close} onClick={onClose}>
            <X aria-hidden />
          </button>
        </div>
        <div className="dialog-body">{children}</div>
        {actions ? (
          <div className="dialog-foot">
            <button type="button" className="button quiet" onClick={onClose}>
              {t.cancel}
            </button>
            {actions}
          </div>
        ) : null}
      </form>
    </dialog>
  );
};

export type Question = {
  readonly title: string;
  readonly text: string;
  readonly confirm: string;
  readonly danger?: boolean;
};

/** `const [question, ask] = useQuestion()`: render `question`, and `await ask({…})` tells what was chosen. */
export const useQuestion = (): [ReactNode, (question: Question) => Promise<boolean>] => {
  const [open, setOpen] = useState<Question & { answer(yes: boolean): void }>();
  const ask = useCallback(
    (question: Question) =>
      new Promise<boolean>((resolve) => {
        const answer = (yes: boolean): void => {
          setOpen(undefined);
          resolve(yes);
        };
        setOpen({ ...question, answer });
      }),
    [],
  );
  const shown = open && (
    <Dialog
      title={open.title}
      onClose={() => open.answer(false)}
      onSubmit={() => open.answer(true)}
      actions={
        <button type="submit" className={open.danger ? 'button danger' : 'button'}>
          {open.confirm}
        </button>
      }
    >
      <p>{open.text}</p>
    </Dialog>
  );
  return [shown, ask];
};

export type Notice = { readonly kind: 'info' | 'good' | 'bad'; readonly text: string };

const NOTICE_MS = 6000;
const MAX_NOTICES = 4;
const NoticeContext = createContext<(notice: Notice) => void>(() => undefined);

/** Around everything; `useNotify` shows a line for some seconds (a bad one until it is closed). */
export const NoticeProvider = ({ children }: { children: ReactNode }) => {
  const t = useTexts();
  const [shown, setShown] = useState<readonly (Notice & { id: number })[]>([]);
  const nextId = useRef(0);
  const remove = useCallback((id: number) => setShown((before) => before.filter((one) => one.id !== id)), []);
  const notify = useCallback(
    (notice: Notice) => {
      nextId.current += 1;
      const id = nextId.current;
      setShown((before) => [...before.slice(1 - MAX_NOTICES), { ...notice, id }]);
      if (notice.kind !== 'bad') setTimeout(() => remove(id), NOTICE_MS);
    },
    [remove],
  );
  const list = useMemo(
    () => (
      <section className="notices" aria-label={t.notices}>
        {shown.map((notice) => (
          <div key={notice.id} className={`notice ${notice.kind}`} role={notice.kind === 'bad' ? 'alert' : 'status'}>
            <span>{notice.text}</span>
            <button type="button" className="icon-button" aria-label={t.close} onClick={() => remove(notice.id)}>
              <X aria-hidden />
            </button>
          </div>
        ))}
      </section>
    ),
    [shown, remove, t],
  );
  return (
    <NoticeContext value={notify}>
      {children}
      {list}
    </NoticeContext>
  );
};

export const useNotify = (): ((notice: Notice) => void) => useContext(NoticeContext);
