/** Files attached to a row: what is there, got, put in place of it, taken away. */
import { Download, Trash2, Upload } from 'lucide-react';
import { useId, useRef, useState } from 'react';
import { useNotify } from '../../shared/dialog.tsx';
import { formatBytes } from '../../shared/format.ts';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import type { AttachedProps } from '../data/item-dialog.tsx';
import { isObject } from '../data/schema.ts';
import { FaultText, useRun } from '../faults.tsx';
import type { Property } from './class-model.ts';

const useTexts = createTexts({
  en: {
    title: 'Files',
    none: 'no file',
    choose: (name: string) => `File for ${name}`,
    upload: 'Upload',
    uploaded: 'Uploaded.',
    download: 'Download',
    remove: 'Remove',
    removed: 'Removed.',
  },
  ru: {
    title: 'Файлы',
    none: 'файла нет',
    choose: (name: string) => `Файл для ${name}`,
    upload: 'Загрузить',
    uploaded: 'Загружено.',
    download: 'Скачать',
    remove: 'Убрать',
    removed: 'Убрано.',
  },
});

type Props = AttachedProps & { readonly path: string; readonly properties: readonly Property[] };

export const Attachments = ({ properties, ...props }: Props) => {
  const t = useTexts();
  return (
    <section className="stack" aria-label={t.title}>
      <h3>{t.title}</h3>
      {properties.map((property) => (
        <OneFile key={property.name} {...props} property={property} />
      ))}
    </section>
  );
};

const OneFile = ({ item, id, path, property, onChanged }: Omit<Props, 'properties'> & { property: Property }) => {
  const t = useTexts();
  const { language } = useLanguage();
  const { api, may } = useConsole();
  const notify = useNotify();
  const [error, isBusy, run] = useRun();
  const [file, setFile] = useState<File>();
  const input = useRef<HTMLInputElement>(null);
  const labelId = useId();
  const address = `${path}/${encodeURIComponent(id)}/${encodeURIComponent(property.name)}`;
  const info = item[property.name];
  const title = property.caption || property.name;
  const change = (act: () => Promise<unknown>, told: string): Promise<void> =>
    run(async () => {
      await act();
      notify({ kind: 'good', text: told });
      if (input.current) input.current.value = '';
      setFile(undefined);
      onChanged();
    });
  const upload = async (): Promise<void> => {
    const form = new FormData();
    form.set('file', file!);
    await api.request(address, { method: 'PUT', body: form });
  };
  return (
    <div className="key-item" data-attachment={property.name}>
      <div className="row between">
        <strong id={labelId}>{title}</strong>
        {isObject(info) ? (
          <span className="small">
            {String(info.name)} · {formatBytes(Number(info.size), language)}
          </span>
        ) : (
          <span className="faint small">{t.none}</span>
        )}
      </div>
      <div className="row">
        {isObject(info) ? (
          <a className="button quiet small" href={`${address}?attachment=1`} download={String(info.name)}>
            <Download aria-hidden /> {t.download}
          </a>
        ) : null}
        {isObject(info) && may('DELETE', address) ? (
          <button
            type="button"
            className="button quiet small"
            disabled={isBusy}
            onClick={() => void change(() => api.request(address, { method: 'DELETE' }), t.removed)}
          >
            <Trash2 aria-hidden /> {t.remove}
          </button>
        ) : null}
      </div>
      {may('PUT', address) ? (
        <div className="row">
          <input
            ref={input}
            type="file"
            className="file"
            aria-label={t.choose(title)}
            onChange={(event) => setFile(event.target.files?.[0])}
          />
          <button
            type="button"
            className="button quiet small"
            disabled={isBusy || !file}
            onClick={() => void change(upload, t.uploaded)}
          >
            <Upload aria-hidden /> {t.upload}
          </button>
        </div>
      ) : null}
      {error ? <FaultText error={error} /> : null}
    </div>
  );
};
