/**
 * English and Russian. Every feature keeps its texts in a table of its own and gets a hook out of `createTexts`; the types
 * see to it that no language lacks a text. A text with a value in it is a function.
 *
 *     const useTexts = createTexts({ en: { title: 'Jobs' }, ru: { title: 'Задания' } });
 *     const t = useTexts(); … <h1>{t.title}</h1>
 */
import { createContext, type ReactNode, useContext, useEffect, useMemo } from 'react';
import { useStored } from './hooks.ts';

export type Language = 'en' | 'ru';
export const LANGUAGES: Readonly<Record<Language, string>> = { en: 'English', ru: 'Русский' };

type LanguageState = { readonly language: Language; setLanguage(language: Language): void };

const LanguageContext = createContext<LanguageState>({ language: 'en', setLanguage: () => undefined });

const isLanguage = (value: unknown): value is Language => value === 'en' || value === 'ru';

/** Around everything: the language of the browser, or the one that was chosen here before. */
export const LanguageProvider = ({ children }: { children: ReactNode }) => {
  const preferred: Language = navigator.language.toLowerCase().startsWith('ru') ? 'ru' : 'en';
  const [stored, setLanguage] = useStored<Language>('parley-language', preferred, isLanguage);
  useEffect(() => {
    document.documentElement.lang = stored;
  }, [stored]);
  const state = useMemo(() => ({ language: stored, setLanguage }), [stored, setLanguage]);
  return <LanguageContext value={state}>{children}</LanguageContext>;
};

export const useLanguage = (): LanguageState => useContext(LanguageContext);

/** Texts of every language → a hook that gives those of the chosen one. */
export const createTexts =
  <T,>(tables: { readonly [L in Language]: T }): (() => T) =>
  () =>
    tables[useLanguage().language];
