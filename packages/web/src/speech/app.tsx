/** The studio's places, and what stands around them. */
import { BookOpen, FileAudio, KeyRound, Layers, ListChecks, Mic, Settings } from 'lucide-react';
import { Route, Switch } from 'wouter';
import { createTexts } from '../shared/i18n.tsx';
import { PageTitle, Shell } from '../shared/layout.tsx';
import { JobsPage } from './jobs.tsx';
import { LivePage } from './live.tsx';
import { ModelsPage } from './models.tsx';
import { ResultPage } from './result.tsx';
import { SessionProvider, useSession } from './session.tsx';
import { SettingsPage } from './settings.tsx';
import { StudioProvider } from './studio.tsx';
import { TranscribePage } from './transcribe.tsx';
import './studio.css';

const useTexts = createTexts({
  en: {
    service: 'Speech',
    transcribe: 'Transcribe',
    live: 'Speak',
    jobs: 'Jobs',
    models: 'Models',
    settings: 'Settings',
    key: 'API key',
    reference: 'Reference',
    lost: 'There is nothing at this address.',
  },
  ru: {
    service: 'Речь',
    transcribe: 'Расшифровать',
    live: 'Говорить',
    jobs: 'Задания',
    models: 'Модели',
    settings: 'Настройки',
    key: 'Ключ API',
    reference: 'Справочник',
    lost: 'По этому адресу ничего нет.',
  },
});

export const App = () => (
  <SessionProvider>
    <StudioProvider>
      <Frame />
    </StudioProvider>
  </SessionProvider>
);

const Frame = () => {
  const t = useTexts();
  const nav = [
    {
      items: [
        { href: '/', label: t.transcribe, icon: <FileAudio aria-hidden /> },
        { href: '/live', label: t.live, icon: <Mic aria-hidden /> },
        { href: '/jobs', label: t.jobs, icon: <ListChecks aria-hidden /> },
        { href: '/models', label: t.models, icon: <Layers aria-hidden /> },
        { href: '/settings', label: t.settings, icon: <Settings aria-hidden /> },
      ],
    },
  ];
  return (
    <Shell service={t.service} nav={nav} actions={<Actions />}>
      <Switch>
        <Route path="/" component={TranscribePage} />
        <Route path="/live" component={LivePage} />
        <Route path="/jobs" component={JobsPage} />
        <Route path="/jobs/:id">{({ id }) => <ResultPage key={id} id={id} />}</Route>
        <Route path="/models" component={ModelsPage} />
        <Route path="/settings" component={SettingsPage} />
        <Route>
          <PageTitle>{t.lost}</PageTitle>
        </Route>
      </Switch>
    </Shell>
  );
};

const Actions = () => {
  const t = useTexts();
  const { askKey } = useSession();
  const changeKey = async (): Promise<void> => {
    // Whatever is shown was read with the key before.
    if (await askKey()) location.reload();
  };
  return (
    <>
      <a className="icon-button" href="/docs" aria-label={t.reference} title={t.reference}>
        <BookOpen aria-hidden />
      </a>
      <button type="button" className="icon-button" aria-label={t.key} title={t.key} onClick={() => void changeKey()}>
        <KeyRound aria-hidden />
      </button>
    </>
  );
};
