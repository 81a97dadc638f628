/** The keys of one element, asked by what the platform declares of its type. */
import { Trash2 } from 'lucide-react';
import { TextField } from '../../shared/form.tsx';
import { createTexts, useLanguage } from '../../shared/i18n.tsx';
import type { ElementType, ScriptObject } from './declared.ts';
import { KeyInputs, withKey } from './key-inputs.tsx';
import type { Around } from './key-props.ts';
import { titleOf, typeName } from './texts.ts';

const useTexts = createTexts({
  en: {
    name: 'Name',
    info: 'What it is for',
    remove: 'Remove this element',
    keys: (title: string) => `Keys of ${title}`,
  },
  ru: { name: 'Имя', info: 'Для чего', remove: 'Убрать элемент', keys: (title: string) => `Ключи элемента ${title}` },
});

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

type Props = {
  readonly object: ScriptObject;
  readonly type: ElementType | undefined;
  readonly around: Around;
  readonly mayWrite: boolean;
  readonly onChange: (object: ScriptObject) => void;
  readonly onRemove: () => void;
};

export const ObjectForm = ({ object, type, around, mayWrite, onChange, onRemove }: Props) => {
  const t = useTexts();
  const { language } = useLanguage();
  // What was refused and is no key of the form: its number, its type.
  const isShown =
    around.fault === undefined || Object.keys(type?.keys ?? {}).some((key) => isAt(around.fault!.key, key));
  return (
    <fieldset className="stack plain" disabled={!mayWrite}>
      <legend className="unseen">{t.keys(titleOf(object, type, language))}</legend>
      <h2>
        {object.oId} · {typeName(type, object.oType, language)}
      </h2>
      {around.fault && !isShown ? <p className="field-error">{around.fault.text}</p> : null}
      <TextField
        label={t.name}
        value={textOf(object.name)}
        onChange={(name) => onChange(withKey(object, 'name', name))}
      />
      <KeyInputs
        keys={type?.keys ?? {}}
        object={object}
        prefix=""
        around={around}
        onChange={(key, value) => onChange(withKey(object, key, value))}
      />
      <TextField
        label={t.info}
        value={textOf(object.info)}
        onChange={(info) => onChange(withKey(object, 'info', info === '' ? undefined : info))}
      />
      <div>
        <button type="button" className="button quiet small" onClick={onRemove}>
          <Trash2 aria-hidden /> {t.remove}
        </button>
      </div>
    </fieldset>
  );
};

const isAt = (fault: string, key: string): boolean =>
  fault === key || fault.startsWith(`${key}.`) || fault.startsWith(`${key}[`);
