/** Starts the page: the console, or at the address of an invitation the form that sets the password. */
import { lazy, StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { NoticeProvider } from '../shared/dialog.tsx';
import { LanguageProvider } from '../shared/i18n.tsx';
import '../shared/theme.css';
import { App } from './app.tsx';
import './console.css';

const InvitePage = lazy(async () => ({ default: (await import('./account/invite.tsx')).InvitePage }));

const [, invitation] = /^\/invite\/([^/]+)$/.exec(location.pathname) ?? [];

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <LanguageProvider>
      <NoticeProvider>
        <Router base="/app-root">
          <Suspense>{invitation === undefined ? <App /> : <InvitePage id={invitation} />}</Suspense>
        </Router>
      </NoticeProvider>
    </LanguageProvider>
  </StrictMode>,
);
