/**
 * The frame of both pages: skip link, header with navigation, theme and language, main part, and `PageTitle` which moves the
 * focus and names the document when the address changes. Navigation stands above, or beside (`side`) where it is long.
 */
import { Languages, Menu, Monitor, Moon, Sun, X } from 'lucide-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { useStored } from './hooks.ts';
import { createTexts, LANGUAGES, type Language, useLanguage } from './i18n.tsx';

const useTexts = createTexts({
  en: {
    skip: 'Skip to content',
    pages: 'Pages',
    menu: 'Menu',
    language: 'Language',
    theme: { auto: 'Appearance: as the system', light: 'Appearance: light', dark: 'Appearance: dark' },
  },
  ru: {
    skip: 'К содержанию',
    pages: 'Страницы',
    menu: 'Меню',
    language: 'Язык',
    theme: { auto: 'Оформление: как в системе', light: 'Оформление: светлое', dark: 'Оформление: тёмное' },
  },
});

export type NavItem = {
  /** Below the router's base: `/jobs`. */
  readonly href: string;
  readonly label: string;
  readonly icon?: ReactNode;
  /** An address elsewhere, which is left for. */
  readonly isOutside?: boolean;
};
/** Items under a heading; without a label they stand by themselves. */
export type NavGroup = { readonly label?: string; readonly items: readonly NavItem[] };

export type ShellProps = {
  /** Beside the name of the house: what this service is. */
  readonly service: string;
  readonly nav: readonly NavGroup[];
  /** Navigation beside the content instead of above it. */
  readonly side?: boolean;
  /** Buttons at the end of the header. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
};

export const Shell = ({ service, nav, side = false, actions, children }: ShellProps) => {
  const t = useTexts();
  const [isOpen, setOpen] = useState(false);
  const [location] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: an address that was reached closes the menu.
  useEffect(() => setOpen(false), [location]);
  return (
    <div className={side ? 'shell shell-side' : 'shell'} data-menu={isOpen ? 'open' : 'closed'}>
      <a className="skip" href="#main">
        {t.skip}
      </a>
      <header className="top">
        {nav.length === 0 ? null : (
          <button
            type="button"
            className="icon-button menu-button"
            aria-label={t.menu}
            aria-expanded={isOpen}
            aria-controls="nav"
            onClick={() => setOpen(!isOpen)}
          >
            {isOpen ? <X aria-hidden /> : <Menu aria-hidden />}
          </button>
        )}
        <Link href="/" className="brand">
          <Mark /> Parley <span className="brand-service">{service}</span>
        </Link>
        {side ? null : <Navigation nav={nav} label={t.pages} />}
        <div className="top-actions">
          {actions}
          <LanguageButton />
          <ThemeButton />
        </div>
      </header>
      {side ? <Navigation nav={nav} label={t.pages} /> : null}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
};

const Mark = () => (
  <svg className="mark" viewBox="0 0 24 24" aria-hidden="true">
    <path d="M3 10v4M7.5 6v12M12 3v18M16.5 7v10M21 10v4" />
  </svg>
);

const Navigation = ({ nav, label }: { nav: readonly NavGroup[]; label: string }) => {
  const [location] = useLocation();
  const isHere = (href: string): boolean => location === href || (href !== '/' && location.startsWith(`${href}/`));
  return (
    <nav id="nav" className="nav" aria-label={label}>
      {nav.map((group) => (
        <div className="nav-group" key={group.label ?? group.items[0]?.href}>
          {group.label === undefined ? null : <div className="nav-label">{group.label}</div>}
          <ul>
            {group.items.map((item) => (
              <li key={item.href}>
                {item.isOutside ? (
                  <a href={item.href}>
                    {item.icon}
                    {item.label}
                  </a>
                ) : (
                  <Link href={item.href} aria-current={isHere(item.href) ? 'page' : undefined}>
                    {item.icon}
                    {item.label}
                  </Link>
                )}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
};

type Theme = 'auto' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];
const ICONS = { auto: Monitor, light: Sun, dark: Moon };
const isTheme = (value: unknown): value is Theme => THEMES.includes(value as Theme);

const ThemeButton = () => {
  const t = useTexts();
  const [theme, setTheme] = useStored<Theme>('parley-theme', 'auto', isTheme);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const Icon = ICONS[theme];
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  return (
    <button type="button" className="icon-button" aria-label={t.theme[theme]} onClick={() => setTheme(next)}>
      <Icon aria-hidden />
    </button>
  );
};

const LanguageButton = () => {
  const t = useTexts();
  const { language, setLanguage } = useLanguage();
  const next: Language = language === 'en' ? 'ru' : 'en';
  return (
    <button
      type="button"
      className="icon-button language-button"
      aria-label={`${language.toUpperCase()}, ${t.language}: ${LANGUAGES[language]}`}
      onClick={() => setLanguage(next)}
    >
      <Languages aria-hidden />
      <span aria-hidden>{language.toUpperCase()}</span>
    </button>
  );
};

/** The heading of a page. After a change of address the focus goes here, so that screen readers say where one is. */
export const PageTitle = ({ children, aside }: { children: string; aside?: ReactNode }) => {
  const ref = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${children} · Parley`;
  }, [children]);
  useEffect(() => {
    const isElsewhere = document.activeElement === null || document.activeElement === document.body;
    if (isElsewhere || document.activeElement?.closest('nav')) ref.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div className="page-title">
      <h1 ref={ref} tabIndex={-1}>
        {children}
      </h1>
      {aside}
    </div>
  );
};
