/** "May this be done?": a method and a path against rules, answered while one types, with the rules that say so. */
import { Check, X } from 'lucide-react';
import { useId, useState } from 'react';
import { createTexts } from '../../shared/i18n.tsx';
import { useConsole } from '../account/console.tsx';
import { allowing, METHODS, type NamedRule, type RouteRule } from './rules.ts';

const useTexts = createTexts({
  en: {
    method: 'Method',
    path: 'Path',
    allowed: 'Allowed',
    refused: 'Refused: no rule allows it',
    by: 'by',
    of: (role: string) => `of the role ${role}`,
  },
  ru: {
    method: 'Метод',
    path: 'Путь',
    allowed: 'Разрешено',
    refused: 'Отказ: ни одно правило этого не разрешает',
    by: 'правилом',
    of: (role: string) => `роли ${role}`,
  },
});

type Props = { readonly title: string; readonly rules: readonly (RouteRule | NamedRule)[] };

export const RequestCheck = ({ title, rules }: Props) => {
  const t = useTexts();
  const id = useId();
  const { requests } = useConsole();
  const [method, setMethod] = useState('GET');
  const [path, setPath] = useState('/rest/v1/iam/users');
  const found = path.trim() === '' ? [] : allowing(rules, method, path);
  return (
    <section className="request-check" aria-label={title}>
      <h3>{title}</h3>
      <div className="route">
        <select aria-label={t.method} value={method} onChange={(event) => setMethod(event.target.value)}>
          {METHODS.filter((one) => one !== '*').map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <input
          aria-label={t.path}
          className="mono"
          list={id}
          spellCheck={false}
          value={path}
          onChange={(event) => setPath(event.target.value)}
        />
        <datalist id={id}>
          {requests.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      </div>
      <output className={found.length > 0 ? 'verdict good' : 'verdict bad'}>
        {found.length > 0 ? <Check aria-hidden /> : <X aria-hidden />}
        <span>
          {found.length === 0 ? t.refused : t.allowed}
          {found[0] ? (
            <>
              {' '}
              {t.by}{' '}
              <code>
                {found[0].methods.join(',')} {found[0].url}
              </code>{' '}
              {'role' in found[0] ? t.of(found[0].role) : ''}
            </>
          ) : null}
        </span>
      </output>
    </section>
  );
};
