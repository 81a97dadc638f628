/**
 * Pages in Debian's chromium: opened with every complaint of the browser written down, and looked over by axe. Runs where
 * `CI_PAGES=1` says that the browser is there.
 */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';

/** For `describe`: false where pages can be tested, else why not. */
export const skipPages =
  process.env.CI_PAGES === '1' && existsSync(CHROMIUM) ? false : 'CI_PAGES is not 1 or chromium is missing';

const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--autoplay-policy=no-user-gesture-required',
];

/** Starts the browser; `microphone` is a WAV file that its microphone plays over and over. */
export const launchBrowser = (microphone?: string): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
    args:
      microphone === undefined
        ? QUIET
        : [
            ...QUIET,
            '--use-fake-ui-for-media-stream',
            '--use-fake-device-for-media-stream',
            `--use-file-for-fake-audio-capture=${microphone}`,
          ],
  });

export type Opened = {
  readonly page: Page;
  /** Faults of scripts, messages on the console, breaches of the policy, requests to other hosts. */
  readonly complaints: string[];
};

/** Answers a page is meant to get; the browser reports every one on its console. */
const EXPECTED = /status of (401|403)/;

/** Opens a page in a context of its own. `storage` is put into the session's storage first. */
export const openPage = async (
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
  storage: Readonly<Record<string, string>> = {},
): Promise<Opened> => {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  const page = await context.newPage();
  const { origin } = new URL(url);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    const isBad = message.type() === 'error' || message.type() === 'warning';
    if (isBad && !EXPECTED.test(message.text())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    const asked = request.url();
    if (!asked.startsWith(`${origin}/`) && !/^(blob|data):/.test(asked)) complaints.push(`asks ${asked}`);
  });
  const stored = JSON.stringify(storage);
  await page.addInitScript(`
    addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));
    for (const [name, value] of Object.entries(${stored})) sessionStorage.setItem(name, value);
  `);
  await page.goto(url);
  return { page, complaints };
};

/** True when nothing stands out at the side. */
export const hasNoOverflow = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth');

/** Waits until the expression is true, looking once a frame. Playwright's own way evaluates within the page's policy. */
export const waitUntil = async (page: Page, expression: string): Promise<void> => {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => ((${expression}) ? resolve() : requestAnimationFrame(look));
    look();
  })`);
};

type Finding = { id: string; impact: string | null; nodes: { target: string[] }[] };

/** What axe finds that is serious or worse, as `rule: place`. */
export const seriousFindings = async (page: Page): Promise<string[]> => {
  // The policy lets no script in; the debugger does.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  // Reading style sheets beforehand would put a style of its own into the page, which the policy forbids.
  const { violations } = (await page.evaluate('axe.run({ resultTypes: ["violations"], preload: false })')) as {
    violations: Finding[];
  };
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
};
