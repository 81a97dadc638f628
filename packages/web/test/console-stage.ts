/** The console in a browser against a platform of its own, and the steps people take in it. */
import type { Browser, Page } from 'playwright-core';
import type { Client, TestPlatform } from '../../platform/test/start-test-platform.ts';
import { type Opened, openPage } from './browser.ts';

/** Answers that a test provokes; the browser writes every one on its console. */
const PROVOKED = /status of (400|404|409|412|415|422)/;

export type Stage = {
  /** Opens a place in a browser of its own, signed in there unless `login` is absent. */
  open(
    path: string,
    who?: { login: string; pwd: string },
    options?: { width?: number; locale?: string },
  ): Promise<Opened>;
};

export const createStage = (browser: Browser, platform: TestPlatform): Stage => ({
  open: async (path, who, { width = 1200, locale = 'en-GB' } = {}) => {
    const opened = await openPage(browser, `${platform.url}/rest/v1/iam/ways_in`, {
      viewport: { width, height: 900 },
      locale,
    });
    const context = opened.page.context();
    if (who) {
      const [name = '', value = ''] = (await platform.cookieOf(who.login, who.pwd, 'master')).split('=');
      await context.addCookies([{ name, value, url: platform.url }]);
    }
    await opened.page.goto(`${platform.url}/app-root${path}`);
    return opened;
  },
});

/** What was complained about beside what the test meant to happen. */
export const unmeant = ({ complaints }: Opened): string[] => complaints.filter((text) => !PROVOKED.test(text));

export const signIn = async (page: Page, login: string, pwd: string): Promise<void> => {
  await page.fill('input[name=login]', login);
  await page.fill('input[name=pwd]', pwd);
  await page.fill('input[name=domain]', 'master');
  await page.click('main form button[type=submit]');
};

export const signOut = async (page: Page): Promise<void> => {
  await page.click('header button[aria-label="Sign out"]');
  await page.waitForSelector('main input[name=login]');
};

/** Fills an input of the open dialog by the name of its field. */
export const enter = (page: Page, field: string, value: string): Promise<void> =>
  page.fill(`dialog [data-field="${field}"] :is(input, textarea)`, value);

/** Sends the open dialog and waits until it is gone. */
export const save = async (page: Page): Promise<void> => {
  await page.click('dialog button[type=submit]');
  await page.waitForSelector('dialog', { state: 'detached' });
};

/** Rows that are shown, cell by cell. */
export const cellsOf = (page: Page): Promise<string[][]> =>
  page.evaluate(`[...document.querySelectorAll('main tbody tr:not([aria-hidden])')].map(
    (row) => [...row.cells].map((cell) => cell.innerText.trim()))`);

/** Calls and throws what was refused. */
export const call = async (client: Client, method: string, path: string, body?: unknown) => {
  const answer = await client.call(method, path, { body });
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status} ${answer.text}`);
  return answer.body;
};
