/** Scripts and classes in the console, against the real platform in a real browser. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import {
  ADMIN_PASSWORD,
  type Client,
  startTestPlatform,
  type TestPlatform,
} from '../../platform/test/start-test-platform.ts';
import { hasNoOverflow, launchBrowser, seriousFindings, skipPages } from './browser.ts';
import { createStage, type Stage, unmeant } from './console-stage.ts';

describe('rooms of the console', { skip: skipPages }, () => {
  let platform: TestPlatform;
  let admin: Client;
  let browser: Browser;
  let stage: Stage;
  before(async () => {
    [platform, browser] = await Promise.all([startTestPlatform(), launchBrowser()]);
    stage = createStage(browser, platform);
    admin = await platform.signIn('admin', ADMIN_PASSWORD);
  });
  after(async () => {
    await browser?.close();
    await platform?.[Symbol.asyncDispose]();
  });

  /** A page of the console with somebody signed in; complaints are looked at in the end. */
  const visit = async (
    path: string,
    look: (page: Page) => Promise<void>,
    how: { width?: number; locale?: string } = {},
  ): Promise<void> => {
    const opened = await stage.open(path, { login: 'admin', pwd: ADMIN_PASSWORD }, how);
    const { page } = opened;
    page.setDefaultTimeout(MAX_WAIT_MS);
    await look(page);
    assert.deepEqual(await seriousFindings(page), []);
    assert.ok(await hasNoOverflow(page), 'nothing stands out at the side');
    assert.deepEqual(unmeant(opened), []);
    await page.context().close();
  };

  const makeScript = async (code: string, objects: readonly object[], more: object = {}): Promise<string> => {
    const made = await admin.call('POST', 'service/svcscripts', { body: { code, scriptdata: { objects, ...more } } });
    assert.equal(made.status, 200, made.text);
    return made.body.id;
  };
  const scriptOf = async (id: string) => (await admin.call('GET', `service/svcscripts/${id}`)).body;

  it('makes a script, draws and fills it, saves, and traces a run', async () => {
    await visit('/service/svcscripts', async (page) => {
      await page.getByRole('button', { name: 'Create' }).click();
      await page.getByLabel('Code').fill('doubling');
      await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
      await page.getByRole('group', { name: '1 · start', exact: true }).click();
      await page.getByLabel('inputs').getByRole('button', { name: 'Add' }).click();
      await page.getByLabel('Name 1').fill('amount');
      await page.getByLabel('Add an element').selectOption({ label: '110 · assign' });
      await page.getByLabel('assign', { exact: true }).getByRole('button', { name: 'Add' }).click();
      await page.getByLabel('name *').fill('twice');
      await page.getByLabel('expr *').fill('Number(amount) * 2');
      await page.getByLabel('Add an element').selectOption({ label: '102 · return' });
      await page.getByLabel('result').getByRole('button', { name: 'Add' }).click();
      await page.getByLabel('Name 1').fill('sum');
      await page.getByLabel('Expression 1').fill('twice');
      await connect(page, 1, 'transfer', 2);
      await page.getByRole('group', { name: '2 · assign', exact: true }).click();
      await page.getByLabel('transfer', { exact: true }).selectOption({ label: '3 · return' });
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved.').waitFor();
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByLabel('amount').fill('21');
      await page.getByRole('button', { name: 'Run and trace' }).click();
      await page.getByText('Step 1 of 3').waitFor();
      assert.equal(
        await page
          .locator('[data-visit="here"]')
          .textContent()
          .then((text) => text!.startsWith('1 ·')),
        true,
      );
      await page.getByRole('button', { name: 'Next step' }).click();
      await page.locator('[data-visit="here"]', { hasText: '2 · assign' }).waitFor();
      assert.match((await page.locator('.values [data-marked="true"]').textContent())!, /twice42/);
      assert.equal(await page.locator('[data-visit="passed"]').count(), 1);
    });
    const { body } = await admin.call(
      'GET',
      `service/svcscripts?filter=${encodeURIComponent('{"code":"doubling"}')}&mask=id`,
    );
    const { objects } = (await scriptOf(body[0].id)).scriptdata;
    assert.deepEqual(
      objects.map(({ oId, transfer }: Record<string, unknown>) => [oId, transfer]),
      [
        [1, 2],
        [2, 3],
        [3, undefined],
      ],
    );
    assert.deepEqual(objects[1].assign, [{ name: 'twice', expr: 'Number(amount) * 2' }]);
    assert.deepEqual(objects[2].result, { sum: 'twice' });
    // The journal has it made and changed, with what was drawn.
    await visit(`/journal?objtype=service/svcscripts&objid=${body[0].id}`, async (page) => {
      await page.locator('main tbody tr', { hasText: 'created' }).waitFor();
      await page.locator('main tbody tr', { hasText: 'changed' }).first().locator('button.link').click();
      await page.locator('.compare tbody tr', { hasText: 'Number(amount) * 2' }).waitFor();
    });
  });

  it('shows what is refused at the element and its key', async () => {
    const id = await makeScript('refused', [
      { oId: 1, oType: 101, transfer: 2 },
      { oId: 2, oType: 111, name: 'which way', cases: [{ cond: 'true', transfer: 0 }] },
    ]);
    await visit(`/service/svcscripts/${id}`, async (page) => {
      await page.getByRole('group', { name: '2 · which way', exact: true }).click();
      await page.getByLabel('cond *').fill('1 +');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.locator('[data-faulty="true"]', { hasText: '2 · switch' }).waitFor();
      const field = page.getByLabel('cond *');
      assert.equal(await field.getAttribute('aria-invalid'), 'true');
      assert.match(
        (await page.locator(`[id="${await field.getAttribute('aria-describedby')}"]`).textContent())!,
        /compile/,
      );
    });
    assert.equal((await scriptOf(id)).scriptdata.objects[1].cases[0].cond, 'true');
  });

  it('drags, takes transfers and elements away with the keyboard, and answers a form of a run', async () => {
    const id = await makeScript('asking', [
      { oId: 1, oType: 101, transfer: 2, oLeft: 0, oTop: 0 },
      { oId: 2, oType: 150, step: 1, fields: [{ name: 'who', title: 'Who?', type: 'line' }], transfer: 3 },
      { oId: 3, oType: 102, result: { greeting: '"Hello " + who' } },
      { oId: 4, oType: 103, text: 'not needed' },
    ]);
    await visit(`/service/svcscripts/${id}`, async (page) => {
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByRole('button', { name: 'Run and trace' }).click();
      await page.getByLabel('Who?').fill('Ann');
      await page.getByRole('button', { name: 'Go on' }).click();
      await page.getByText('"Hello Ann"').first().waitFor();
      await page.getByRole('button', { name: 'Show everything' }).click();
      const start = page.getByRole('group', { name: '1 · start', exact: true });
      await drag(page, start, 0, 150);
      const note = page.getByRole('group', { name: '4 · comment', exact: true });
      await note.focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Delete');
      await note.waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved.').waitFor();
    });
    const { objects } = (await scriptOf(id)).scriptdata;
    assert.deepEqual(
      objects.map(({ oId }: { oId: number }) => oId),
      [1, 2, 3],
    );
    assert.ok(objects[0].oTop > 100, `dragged down: ${objects[0].oTop}`);
  });

  it('shows a script on a narrow screen, in Russian', async () => {
    const id = await makeScript('narrow', [{ oId: 1, oType: 101 }]);
    const look = async (page: Page): Promise<void> => {
      await page.getByRole('group', { name: '1 · начало', exact: true }).click();
      await page.getByLabel('Добавить элемент').selectOption({ label: '111 · выбор' });
      await page.getByRole('heading', { name: '2 · выбор' }).waitFor();
    };
    await visit(`/service/svcscripts/${id}`, look, { width: 360, locale: 'ru-RU' });
  });

  it('makes a class under another, a row in it, and attaches a file that comes back as it was', async () => {
    const parent = await admin.call('POST', 'design/classes', {
      body: {
        classname: 'shop/Thing',
        storage_mode: 'abstract',
        properties: [{ name: 'title', caption: 'Title', data_type: 'string', required: true }],
      },
    });
    assert.equal(parent.status, 200, parent.text);
    await visit('/design/classes/new', async (page) => {
      await page.getByLabel('Class name').fill('shop/Order');
      await page.getByRole('dialog').getByLabel('Parent').selectOption({ label: 'shop/Thing' });
      await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { name: 'shop/Order' }).waitFor();
      await page.getByRole('cell', { name: 'shop/Thing' }).waitFor();
      await addProperty(page, 1, 'state', 'enum');
      await page.getByRole('group', { name: 'state' }).getByLabel('Words').fill('open\nclosed');
      await addProperty(page, 2, 'paper', 'attachment');
      await addProperty(page, 3, 'amount', 'integer');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved.').waitFor();
      await page.getByRole('link', { name: 'Rows' }).click();
      await page.getByRole('button', { name: 'Create' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.locator('[data-field="title"] :is(input, textarea)').fill('Tea');
      await dialog.locator('[data-field="state"] select').selectOption('open');
      await dialog.locator('[data-field="amount"] input').fill('3');
      await dialog.getByRole('button', { name: 'Create' }).click();
      await page.getByRole('button', { name: 'Tea' }).click();
      await dialog
        .getByLabel('File for paper')
        .setInputFiles({ name: 'Счёт.txt', mimeType: 'text/plain', buffer: PAPER });
      await dialog.getByRole('button', { name: 'Upload' }).click();
      await dialog.getByText('Счёт.txt').waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        dialog.getByRole('link', { name: 'Download' }).click(),
      ]);
      assert.equal(download.suggestedFilename(), 'Счёт.txt');
      assert.deepEqual(await readFile(await download.path()), PAPER);
      // The row changed under the open form, which still saves.
      await dialog.locator('[data-field="state"] select').selectOption('closed');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('cell', { name: 'closed' }).waitFor();
    });
    const rows = (await admin.call('GET', 'model/shop/Order')).body;
    assert.deepEqual([rows.length, rows[0].title, rows[0].state, rows[0].amount], [1, 'Tea', 'closed', 3]);
    assert.equal(rows[0].paper.size, PAPER.length);
  });

  it('shows at the property what is refused of a class', async () => {
    const made = await admin.call('POST', 'design/classes', { body: { classname: 'Bad' } });
    const look = async (page: Page): Promise<void> => {
      await addProperty(page, 1, 'not good', 'string');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('group', { name: 'not good' }).locator('[aria-invalid="true"]').waitFor();
    };
    await visit(`/design/classes/${made.body.id}`, look, { width: 360 });
  });
});

/** What is not there by then does not come. */
const MAX_WAIT_MS = 20_000;
const PAPER = Buffer.from('Чай, 3 коробки\n');

const addProperty = async (page: Page, at: number, name: string, type: string): Promise<void> => {
  await page.getByRole('button', { name: 'Add a property' }).click();
  await page
    .getByRole('group', { name: `Name ${at}` })
    .getByLabel('Name')
    .fill(name);
  await page.getByRole('group', { name, exact: true }).getByLabel('Type').selectOption(type);
};

type Locator = ReturnType<Page['locator']>;

const middleOf = async (place: Locator): Promise<{ x: number; y: number }> => {
  const box = (await place.boundingBox())!;
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
};

/** Draws a transfer from an element to another with the mouse. */
const connect = async (page: Page, from: number, path: string, to: number): Promise<void> => {
  const source = await middleOf(page.locator(`.react-flow__handle[data-nodeid="${from}"][data-handleid="${path}"]`));
  const target = await middleOf(page.locator(`.react-flow__handle[data-nodeid="${to}"][data-handleid="in"]`));
  await page.mouse.move(source.x, source.y);
  await page.mouse.down();
  await page.mouse.move(target.x, target.y, { steps: 8 });
  await page.mouse.up();
};

const drag = async (page: Page, place: Locator, dx: number, dy: number): Promise<void> => {
  // Waits until it stands still.
  await place.hover();
  const { x, y } = await middleOf(place);
  await page.mouse.down();
  await page.mouse.move(x + dx, y + dy, { steps: 8 });
  await page.mouse.up();
};
