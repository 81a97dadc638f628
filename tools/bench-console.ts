/**
 * `npm run bench:console`: ten thousand users in one table. Prints how long after the answer the first rows are shown, and
 * the frames while it is scrolled from end to end; beside it the same with a plain list, which is the floor of this machine.
 */
import { availableParallelism, loadavg } from 'node:os';
import type { CDPSession, Page } from 'playwright-core';
import { ADMIN_PASSWORD, type Client, startTestPlatform } from '../packages/platform/test/start-test-platform.ts';
import { launchBrowser, openPage } from '../packages/web/test/browser.ts';

const USERS = 10_000;
const AT_ONCE = 200;
const SCROLLED_SEC = 10;
/** A frame that took longer than this is below 50 a second. */
const SLOW_MS = 20;
/** Two of 60 a second: one was dropped. */
const DROPPED_MS = 34;

const fill = async (admin: Client): Promise<void> => {
  for (let at = 0; at < USERS; at += AT_ONCE) {
    const logins = Array.from({ length: AT_ONCE }, (_, index) => `user-${String(at + index).padStart(5, '0')}`);
    await Promise.all(
      logins.map((login) => admin.call('POST', 'iam/users', { body: { login, opts: { title: 'Reception' } } })),
    );
  }
};

/** Notes in the page when the first row of users is painted. */
const WATCH = `new MutationObserver((_, observer) => {
  if (!document.querySelector('main tbody tr td')) return;
  observer.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { window.shownAt = performance.now(); }));
}).observe(document, { childList: true, subtree: true });`;

/** From the end of the answer with the rows to the frame that shows them, ms. */
const firstRowsMs = async (page: Page, url: string): Promise<number> => {
  await page.addInitScript(WATCH);
  await page.goto(url);
  await page.waitForSelector('td:has-text("user-00000")');
  return page.evaluate(`new Promise((resolve) => {
    const look = () => {
      const answer = performance.getEntriesByType('resource')
        .find(({ name }) => name.includes('/iam/users?') && name.includes('mask='));
      if (window.shownAt && answer) resolve(window.shownAt - answer.responseEnd);
      else requestAnimationFrame(look);
    };
    look();
  })`);
};

/** Scrolls through the element that a selector names and tells how long each frame took, ms. */
const scrollFrames = (page: Page, selector: string): Promise<number[]> =>
  page.evaluate(`new Promise((resolve) => {
    const frame = document.querySelector('${selector}');
    const frames = [];
    const begin = performance.now();
    let before = begin;
    const step = (now) => {
      frames.push(now - before);
      before = now;
      const share = (now - begin) / ${SCROLLED_SEC * 1000};
      frame.scrollTop = (frame.scrollHeight - frame.clientHeight) * share;
      if (share < 1) requestAnimationFrame(step);
      else resolve(frames.slice(1));
    };
    requestAnimationFrame(step);
  })`);

/** What the page's main thread has done so far, s of the processor. */
const workOf = async (session: CDPSession): Promise<Readonly<Record<string, number>>> => {
  const { metrics } = await session.send('Performance.getMetrics');
  return Object.fromEntries(metrics.map(({ name, value }) => [name, value]));
};

/** The parts of the main thread's work that are told apart. */
const WORK = ['TaskDuration', 'ScriptDuration', 'RecalcStyleDuration', 'LayoutDuration'] as const;

/** Scrolls from end to end, prints the frames, and answers how much work one was, ms of the processor. */
const measure = async (page: Page, name: string, selector: string): Promise<number> => {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const before = await workOf(session);
  const frames = (await scrollFrames(page, selector)).sort((a, b) => a - b);
  const after = await workOf(session);
  const at = (share: number): string => frames[Math.floor((frames.length - 1) * share)]!.toFixed(1);
  const work = WORK.map((part) => (((after[part]! - before[part]!) * 1000) / frames.length).toFixed(1));
  print(
    `${name}: frames in ${SCROLLED_SEC} s`,
    `${frames.length}, ${(frames.length / SCROLLED_SEC).toFixed(0)} a second`,
  );
  print('  frame, median / 95 % / longest', `${at(0.5)} / ${at(0.95)} / ${at(1)} ms`);
  print(
    '  frames below 50 a second / dropped',
    [SLOW_MS, DROPPED_MS].map((most) => frames.filter((ms) => ms > most).length).join(' / '),
  );
  print('  processor a frame: all / script / style / layout', `${work.join(' / ')} ms`);
  return Number(work[0]);
};

/** The same rows as text in a plain list, all of them: what the browser and the machine manage without any program. */
const showPlainList = (page: Page): Promise<void> =>
  page.evaluate(`{
    const rows = Array.from({ length: ${USERS} }, (_, at) =>
      '<div>user-' + String(at).padStart(5, '0') + ' <span>Reception</span> <span>22 Nov 2026, 10:00:00</span></div>');
    document.body.innerHTML = '<section id="plain" tabindex="0">' + rows.join('') + '</section>';
    const style = new CSSStyleSheet();
    style.replaceSync('#plain { height: 630px; overflow: auto } #plain div { height: 44px }');
    document.adoptedStyleSheets = [style];
  }`);

const print = (label: string, value: string): void => void process.stdout.write(`${label.padEnd(46)} ${value}\n`);

await using platform = await startTestPlatform();
await fill(await platform.signIn('admin', ADMIN_PASSWORD));
const browser = await launchBrowser();
try {
  const { page } = await openPage(browser, `${platform.url}/rest/v1/iam/ways_in`, {
    viewport: { width: 1280, height: 900 },
  });
  const [name = '', value = ''] = (await platform.cookieOf('admin', ADMIN_PASSWORD)).split('=');
  await page.context().addCookies([{ name, value, url: platform.url }]);
  const url = `${platform.url}/app-root/iam/users?f.login=user-&sort=login&size=10000`;
  const first = await firstRowsMs(page, url);
  print('first rows after the answer', `${first.toFixed(0)} ms`);
  const table = await measure(page, 'table', '.table-frame');
  print('  rows in the document at once', String(await page.locator('main tbody tr').count()));
  await page.goto(`${platform.url}/rest/v1/iam/ways_in`);
  await showPlainList(page);
  const plain = await measure(page, 'plain list', '#plain');
  print('work of the table against the plain list', (table / plain).toFixed(1));
  print('load of the machine, 1 min', `${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} processors`);
} finally {
  await browser.close();
}
