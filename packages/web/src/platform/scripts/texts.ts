/** Words of the room of scripts that several of its parts use. */
import { createTexts, type Language } from '../../shared/i18n.tsx';
import type { ElementType } from './declared.ts';

export const useScriptTexts = createTexts({
  en: {
    nowhere: 'the end',
    add: 'Add',
    remove: 'Remove',
    up: 'Move up',
    name: 'Name',
    value: 'Value',
    expression: 'Expression',
    variable: 'Variable',
    required: 'required',
    unset: 'not set',
    yes: 'yes',
    no: 'no',
  },
  ru: {
    nowhere: 'конец',
    add: 'Добавить',
    remove: 'Убрать',
    up: 'Выше',
    name: 'Имя',
    value: 'Значение',
    expression: 'Выражение',
    variable: 'Переменная',
    required: 'обязательно',
    unset: 'не задано',
    yes: 'да',
    no: 'нет',
  },
});

const NAMES_RU: Readonly<Record<number, string>> = {
  101: 'начало',
  102: 'результат',
  103: 'примечание',
  110: 'присвоение',
  111: 'выбор',
  112: 'цикл',
  113: 'вызов сценария',
  114: 'пауза',
  120: 'запрос HTTP',
  121: 'письмо',
  122: 'SMS',
  130: 'поиск',
  131: 'создание',
  132: 'изменение',
  133: 'удаление',
  140: 'проверка пароля',
  141: 'сеанс',
  142: 'счётчик неудач',
  150: 'форма',
  151: 'отказ',
  160: 'одноразовый код',
  170: 'проверка JWT',
  180: 'запись в журнал',
  190: 'код',
};

export const typeName = (type: ElementType | undefined, oType: number, language: Language): string =>
  (language === 'ru' ? NAMES_RU[oType] : undefined) ?? type?.name ?? String(oType);

/** `3 · account` or `3 · find`. */
export const titleOf = (
  object: { readonly oId: number; readonly oType: number; readonly name?: unknown },
  type: ElementType | undefined,
  language: Language,
): string => {
  const name =
    typeof object.name === 'string' && object.name !== '' ? object.name : typeName(type, object.oType, language);
  return `${object.oId} · ${name}`;
};
