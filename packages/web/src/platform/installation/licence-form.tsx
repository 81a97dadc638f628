/** Taking a licence: the document as the vendor issued it, from its file or pasted. */
import { Upload } from 'lucide-react';
import { type FormEvent, useRef, useState } from 'react';
import { useNotify } from '../../shared/dialog.tsx';
import { TextArea } from '../../shared/form.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import { detailsOf, FaultText, useRun } from '../faults.tsx';

const useTexts = createTexts({
  en: {
    title: 'Install a licence',
    file: 'File of the licence',
    text: 'The licence',
    hint: 'Choose the file, or paste what is in it.',
    install: 'Install',
    installed: 'The licence is in force.',
    reasons: {
      malformed: 'This does not say what a licence says.',
      not_decryptable: 'This is no licence, or one for another installation.',
      no_vendor_key: 'The service knows no key of the vendor: set platform.license.vendor_keys.',
      bad_signature: 'It is not signed by the vendor.',
      other_installation: 'It was issued for another installation.',
      not_yet_valid: 'It is not valid yet.',
      expired: 'It has expired.',
      older: 'It is older than the licence in force.',
    } as Readonly<Record<string, string>>,
  },
  ru: {
    title: 'Установить лицензию',
    file: 'Файл лицензии',
    text: 'Лицензия',
    hint: 'Выберите файл или вставьте его содержимое.',
    install: 'Установить',
    installed: 'Лицензия действует.',
    reasons: {
      malformed: 'В документе нет того, что должно быть в лицензии.',
      not_decryptable: 'Это не лицензия, или она для другой установки.',
      no_vendor_key: 'Сервису неизвестен ключ поставщика: задайте platform.license.vendor_keys.',
      bad_signature: 'Она не подписана поставщиком.',
      other_installation: 'Она выдана для другой установки.',
      not_yet_valid: 'Она ещё не действует.',
      expired: 'Её срок истёк.',
      older: 'Она старше действующей.',
    } as Readonly<Record<string, string>>,
  },
});

type Props = { readonly path: string; readonly onInstalled: () => void };

export const LicenceForm = ({ path, onInstalled }: Props) => {
  const t = useTexts();
  const { api } = useConsole();
  const notify = useNotify();
  const [text, setText] = useState('');
  const [error, isBusy, run] = useRun();
  const file = useRef<HTMLInputElement>(null);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run(async () => {
      // The interface takes the document as a JSON string.
      const body = JSON.stringify(text.trim());
      await api.request(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      notify({ kind: 'good', text: t.installed });
      setText('');
      if (file.current) file.current.value = '';
      onInstalled();
    });
  };
  const reason = error && t.reasons[String(detailsOf(error).reason)];
  return (
    <form className="card stack" aria-label={t.title} onSubmit={submit}>
      <h2>{t.title}</h2>
      <input
        ref={file}
        type="file"
        className="file"
        aria-label={t.file}
        onChange={({ target }) => void target.files?.[0]?.text().then(setText)}
      />
      <TextArea label={t.text} hint={t.hint} rows={4} code required value={text} onChange={setText} />
      {error ? <FaultText error={reason ? new Error(reason) : error} /> : null}
      <div className="row">
        <button type="submit" className="button" disabled={isBusy || text.trim() === ''}>
          <Upload aria-hidden /> {t.install}
        </button>
      </div>
    </form>
  );
};
