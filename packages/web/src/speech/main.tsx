/** Starts the page. */
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { NoticeProvider } from '../shared/dialog.tsx';
import { LanguageProvider } from '../shared/i18n.tsx';
import '../shared/theme.css';
import { App } from './app.tsx';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <LanguageProvider>
      <NoticeProvider>
        <Router base="/ui">
          <App />
        </Router>
      </NoticeProvider>
    </LanguageProvider>
  </StrictMode>,
);
