/** The console's pages, on a platform with people, roles and a history to look at. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import {
  ADMIN_PASSWORD,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from '../../packages/platform/test/start-test-platform.ts';
import { launchBrowser, openPage } from '../../packages/web/test/browser.ts';
import { type Call, fillInstallation, installationScenes, startSurroundings } from './installation.ts';
import { fillRooms, type MadeRooms, roomScenesOf } from './rooms.ts';
import { type Capture, LOOKS, type Look, nameOf, type Scene } from './scene.ts';

export const capturePlatform = async (capture: Capture): Promise<void> => {
  await using surroundings = await startSurroundings();
  await using platform = await startTestPlatform(undefined, surroundings.settings);
  const browser = await launchBrowser();
  try {
    const admin = await platform.signIn('admin', ADMIN_PASSWORD);
    const made = await fill(admin);
    await fillInstallation(platform, admin, callOf(admin), browser, surroundings);
    for (const look of LOOKS) {
      for (const scene of scenesOf(made)) {
        if (capture.isWanted(nameOf(scene.name, look))) await shootScene(capture, browser, platform, scene, look);
      }
    }
  } finally {
    await browser.close();
  }
};

const shootScene = async (
  capture: Capture,
  browser: Browser,
  platform: TestPlatform,
  scene: Scene,
  { width, height, theme }: Look,
) => {
  const { page, complaints } = await openPage(browser, `${platform.url}/app-root`, {
    viewport: { width, height },
    colorScheme: theme,
  });
  if (!scene.isGuest) await signIn(page.context(), platform);
  await page.goto(`${platform.url}${scene.base ?? '/app-root'}${scene.path}`);
  await page.waitForSelector('h1');
  await page.waitForLoadState('networkidle');
  await scene.prepare?.(page);
  await page.waitForLoadState('networkidle');
  await page.waitForSelector('main p[role=status]:has-text("Loading")', { state: 'detached' });
  await capture.shoot(page, nameOf(scene.name, { width, height, theme }));
  await page.context().close();
  if (complaints.length > 0) throw new Error(`${scene.name}: ${complaints.join('\n')}`);
};

/** A session, and beside it one other; those of the scenes before are ended. */
const signIn = async (context: BrowserContext, platform: TestPlatform): Promise<void> => {
  const cookie = await platform.cookieOf('admin', ADMIN_PASSWORD, 'master');
  await platform.as({ cookie }).call('DELETE', 'iam/sessions');
  await platform.signIn('admin', ADMIN_PASSWORD, 'master');
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: platform.url }]);
};

type Made = MadeRooms & { readonly user: string; readonly role: string };

const scenesOf = ({ user, role, ...rooms }: Made): Scene[] => [
  { name: 'sign-in', path: '', isGuest: true },
  { name: 'home', path: '' },
  { name: 'users', path: '/iam/users?f.login=a', prepare: showFilters },
  { name: 'user', path: `/iam/users/${user}` },
  { name: 'role', path: `/domain/roles/${role}`, prepare: showRoutes },
  { name: 'access', path: `/access?user=${user}` },
  { name: 'journal', path: '/journal' },
  { name: 'journal-entry', path: `/journal?objtype=iam/users&objid=${user}`, prepare: showEntry },
  { name: 'nodes', path: '/master/nodes' },
  { name: 'sessions', path: '/sessions' },
  { name: 'settings', path: '/domain/settings' },
  ...roomScenesOf(rooms),
  ...installationScenes(),
];

/** Where there is room for both, filters and rows. */
const showFilters = async (page: Page): Promise<void> => {
  if ((page.viewportSize()?.width ?? 0) > 1000) await page.click('button:has-text("Filter")');
};

const showRoutes = async (page: Page): Promise<void> => {
  await page.fill('.request-check input', '/rest/v1/iam/users/17');
  await page.locator('.request-check').scrollIntoViewIfNeeded();
};

const showEntry = async (page: Page): Promise<void> => {
  await page.click('tbody tr button.link');
  await page.waitForSelector('.compare tbody tr');
};

const PEOPLE = ['Ann Lee', 'Bertil Ek', 'Carla Rossi', 'Dmitri Orlov', 'Elif Kaya', 'Farid Haddad', 'Grace Okafor'];

const callOf =
  (admin: Client): Call =>
  async (method, path, body) => {
    const answer = await admin.call(method, path, { body });
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status} ${answer.text}`);
    return answer.body as { id: string };
  };

const fill = async (admin: Client): Promise<Made> => {
  const call = callOf(admin);
  const role = await call('POST', 'domain/roles', {
    name: 'reception',
    description: 'Looks after contacts, sees users.',
    routes: [
      { methods: ['GET', 'LOOKUP'], url: '/rest/v1/iam/users*' },
      { methods: ['*'], url: '/rest/v1/addressbook/*' },
    ],
    webapps: [{ name: 'Telephone', url: '/phone/', description: 'Calls and chats', order: 1 }],
  });
  await call('POST', 'master/domains', { name: 'north.example.org' });
  await call('POST', 'domain/projects', { code: 'helpdesk', name: 'Help desk' });
  await call('PATCH', 'domain/settings/journal', { value: { days: 400 } });
  await call('PATCH', 'domain/settings/iam_ban', { value: { limit: 5, window_sec: 600 } });
  const ids: string[] = [];
  for (const name of PEOPLE) {
    const login = name.toLowerCase().replace(' ', '.');
    const body = {
      login,
      name,
      opts: { roles: ['reception'], title: 'Reception' },
      ext: { email: `${login}@example.org` },
    };
    ids.push((await call('POST', 'iam/users', body)).id);
  }
  const user = ids[0]!;
  await call('PATCH', `iam/users/${user}`, { name: 'Ann Lee-Berg', opts: { comment: 'Back in March' } });
  const me = (await admin.call('GET', 'iam/users/current')).body as { id: string; opts: { roles: string[] } };
  await call('PATCH', `iam/users/${me.id}`, { opts: { roles: [...me.opts.roles, 'reception'] } });
  return { user, role: role.id, ...(await fillRooms(admin, call)) };
};
