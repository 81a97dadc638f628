/** The first page: who is signed in, and the applications their roles offer. */
import { AppWindow } from 'lucide-react';
import { createTexts } from '../shared/i18n.tsx';
import { PageTitle } from '../shared/layout.tsx';
import { Badge } from '../shared/parts.tsx';
import { useConsole, type Webapp } from './account/console.tsx';
import { hrefOf } from './webapps.ts';

const useTexts = createTexts({
  en: {
    where: (domain: string) => `You are in the domain ${domain}.`,
    apps: 'Your applications',
    none: 'Your roles offer no applications.',
    roles: 'Your roles',
    noRoles: 'none',
  },
  ru: {
    where: (domain: string) => `Вы в домене ${domain}.`,
    apps: 'Ваши приложения',
    none: 'Ваши роли не дают приложений.',
    roles: 'Ваши роли',
    noRoles: 'нет',
  },
});

export const HomePage = () => {
  const t = useTexts();
  const { session } = useConsole();
  return (
    <>
      <PageTitle>{session.name_login}</PageTitle>
      <div className="stack">
        <p>{t.where(session.domain)}</p>
        <div className="row">
          <span className="faint">{t.roles}:</span>
          {session.roles.length === 0 ? t.noRoles : session.roles.map((role) => <Badge key={role}>{role}</Badge>)}
        </div>
        <h2>{t.apps}</h2>
        {session.webapps.length === 0 ? (
          <p className="faint">{t.none}</p>
        ) : (
          <ul className="apps">
            {session.webapps.map((webapp) => (
              <li key={webapp.name} className="card">
                <AppWindow aria-hidden />
                <div>
                  <AppName {...webapp} />
                  {webapp.description ? <p className="faint small">{webapp.description}</p> : null}
                </div>
              </li>
            ))}
          </ul>
        )}
      </div>
    </>
  );
};

const AppName = (webapp: Webapp) => {
  const href = hrefOf(webapp);
  return href === undefined ? <strong>{webapp.name}</strong> : <a href={href}>{webapp.name}</a>;
};
