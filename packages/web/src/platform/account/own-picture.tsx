/** The own picture: shown, placed, taken away. */
import { Trash2, Upload, UserRound } from 'lucide-react';
import { useId, useRef } from 'react';
import { useNotify } from '../../shared/dialog.tsx';
import { createTexts } from '../../shared/i18n.tsx';
import { FaultText, useRun } from '../faults.tsx';
import { useConsole } from './console.tsx';

const useTexts = createTexts({
  en: {
    picture: 'My picture',
    choose: 'Choose a picture',
    hint: 'PNG, JPEG or WebP, up to 1 MiB.',
    remove: 'Take away',
    placed: 'The picture is in place.',
    removed: 'The picture is gone.',
    tooLarge: 'This picture is larger than 1 MiB.',
    noPicture: 'This is no PNG, JPEG or WebP picture.',
  },
  ru: {
    picture: 'Моё изображение',
    choose: 'Выбрать изображение',
    hint: 'PNG, JPEG или WebP, до 1 МиБ.',
    remove: 'Убрать',
    placed: 'Изображение на месте.',
    removed: 'Изображения больше нет.',
    tooLarge: 'Это изображение больше 1 МиБ.',
    noPicture: 'Это не изображение PNG, JPEG или WebP.',
  },
});

const PATH = '/rest/v1/user/avatar';
const MAX_BYTES = 1_048_576;

/** `user/info` tells it; `hasha` changes with the picture. */
export type Avatar = { readonly name: string; readonly size: number; readonly hasha: string };

type Props = { readonly avatar: Avatar | false; readonly onChanged: () => void };

export const OwnPicture = ({ avatar, onChanged }: Props) => {
  const t = useTexts();
  const { api } = useConsole();
  const notify = useNotify();
  const [error, isBusy, run] = useRun();
  const input = useRef<HTMLInputElement>(null);
  const hintId = useId();
  const place = (file: File): Promise<void> =>
    run(async () => {
      if (file.size > MAX_BYTES) throw new Error(t.tooLarge);
      const body = new FormData();
      body.set('file', file);
      await api.request(PATH, { method: 'PUT', body }).catch((thrown: unknown) => {
        throw (thrown as { status?: number }).status === 415 ? new Error(t.noPicture) : thrown;
      });
      notify({ kind: 'good', text: t.placed });
      onChanged();
    });
  const remove = (): Promise<void> =>
    run(async () => {
      await api.request(PATH, { method: 'DELETE' });
      notify({ kind: 'good', text: t.removed });
      onChanged();
    });
  return (
    <div className="own-picture">
      {avatar ? (
        <img src={`${PATH}?${avatar.hasha}`} alt={t.picture} />
      ) : (
        <span className="no-picture">
          <UserRound aria-hidden />
        </span>
      )}
      <div>
        <input
          ref={input}
          type="file"
          hidden
          accept="image/png,image/jpeg,image/webp"
          onChange={({ target }) => {
            const file = target.files?.[0];
            target.value = '';
            if (file) void place(file);
          }}
        />
        <div className="row">
          <button
            type="button"
            className="button quiet small"
            aria-describedby={hintId}
            disabled={isBusy}
            onClick={() => input.current?.click()}
          >
            <Upload aria-hidden /> {t.choose}
          </button>
          {avatar ? (
            <button type="button" className="button quiet small" disabled={isBusy} onClick={() => void remove()}>
              <Trash2 aria-hidden /> {t.remove}
            </button>
          ) : null}
        </div>
        <div className="hint" id={hintId}>
          {t.hint}
        </div>
      </div>
      {error ? <FaultText error={error} /> : null}
    </div>
  );
};
