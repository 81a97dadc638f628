/** What the account, the licence, the database accounts and the references are shown with, and their scenes. */
import { randomUUID } from 'node:crypto';
import { startPostgres } from '@parley/kit/testing/postgres-server.ts';
import type { Browser, Page } from 'playwright-core';
import { createVendorKey, issueLicence, type VendorKey } from '../../packages/platform/src/licence/issue.ts';
import type { Client, TestPlatform } from '../../packages/platform/test/start-test-platform.ts';
import type { Scene } from './scene.ts';

export type Call = (method: string, path: string, body: object) => Promise<{ id: string }>;

/** A database server and a vendor, which the platform is started with. */
export type Surroundings = AsyncDisposable & {
  readonly vendor: VendorKey;
  readonly settings: Readonly<Record<string, string>>;
  /** Of a database that temporary accounts are made in. */
  databaseUrl(): Promise<string>;
};

/** An address that a server of the machine's own hardly listens on. */
const DOORS = { address: '127.0.0.61', network: '127.0.0.0/8' };

export const startSurroundings = async (): Promise<Surroundings> => {
  const vendor = await createVendorKey();
  const postgres = await startPostgres(DOORS);
  return {
    vendor,
    settings: { 'platform.license.vendor_keys': vendor.publicKey },
    databaseUrl: () => postgres.createDatabase(),
    [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
  };
};

export const fillInstallation = async (
  platform: TestPlatform,
  admin: Client,
  call: Call,
  browser: Browser,
  surroundings: Surroundings,
): Promise<void> => {
  const addressee = (await admin.call('GET', 'master/license/installation')).body;
  const terms = {
    products: 'Parley, telephone',
    dql: { domains: 10, svcscripts: 200, webservice_public: 5, webservice_subscr: 20 },
    sqf: { recording: true, transcription: true, fax: false },
    iss: 'Example Vendor',
    exp: Date.UTC(2030, 11, 31) / 1000,
  };
  const issuedAt = Math.floor(Date.now() / 1000);
  const licence = await issueLicence(terms, addressee, surroundings.vendor.privateKey, issuedAt);
  const installed = await admin.call('POST', 'master/license', { body: licence });
  if (installed.status !== 200) throw new Error(`the licence was answered ${installed.status} ${installed.text}`);
  const database = new URL(await surroundings.databaseUrl()).pathname.slice(1);
  const params = { host: DOORS.address, port: 5432, login: 'postgres', pwd: '', database };
  await call('POST', 'domain/storages', { instance: 'orders', type: 'postgresql', params });
  await call('POST', 'iam/dbusers/orders', {});
  await call('POST', 'iam/dbusers_by_expiration/orders', { ttl_sec: 90_000 });
  await placePicture(admin, platform.url, browser);
  const ext = { email: 'admin@example.org', floor: 3, desk: { room: 'B12' } };
  await call('PUT', 'user/ext', ext);
};

/** Drawn here, so that no picture need lie in the repository. */
const placePicture = async ({ headers }: Client, url: string, browser: Browser): Promise<void> => {
  const page = await browser.newPage({ viewport: { width: 256, height: 256 } });
  await page.setContent(`<body style="margin:0;height:256px;background:linear-gradient(135deg,#0b6b60,#7fd49c);
    display:grid;place-items:center;font:700 110px system-ui;color:#fff">A</body>`);
  const body = new Uint8Array(await page.screenshot());
  await page.close();
  const answer = await fetch(`${url}/rest/v1/user/avatar`, {
    method: 'PUT',
    headers: { ...headers, 'content-type': 'image/png' },
    body,
  });
  if (!answer.ok) throw new Error(`the picture was answered ${answer.status}`);
};

export const installationScenes = (): Scene[] => [
  { name: 'account', path: '/account' },
  { name: 'licence', path: '/master/license' },
  { name: 'db-accounts', path: '/iam/dbusers' },
  { name: 'db-account', path: '/iam/dbusers', prepare: makeAccount },
  { name: 'import', path: '/iam/groups', prepare: showImport },
  { name: 'invitation', base: '', path: `/invite/${randomUUID()}`, isGuest: true },
  { name: 'docs', base: '', path: '/docs', isGuest: true },
  { name: 'docs-try', base: '', path: '/docs#iam%2Fusers', prepare: tryRequest },
];

const makeAccount = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'New account' }).click();
  await page.getByLabel('It ends').selectOption('hours');
};

const showImport = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Import' }).click();
  await page.locator('dialog').waitFor();
};

const tryRequest = async (page: Page): Promise<void> => {
  await page.locator('summary:has(.method:text-is("GET")):has(.path:text-is("/rest/v1/iam/users"))').click();
  const form = page.locator('form[aria-label="Try GET /rest/v1/iam/users"]');
  await form.getByLabel('mask').fill('login,name,opts.roles');
  await form.getByLabel('limit').fill('3');
  await form.getByRole('button', { name: 'Send' }).click();
  await form.locator('output pre').waitFor();
  await form.locator('output').scrollIntoViewIfNeeded();
};
