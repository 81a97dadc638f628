/** Scripts and classes for the pictures of the console: a scenario of sign-in, a script with a loop, a small shop. */
import type { Page } from 'playwright-core';
import { signInWithCode } from '../../packages/platform/src/scripts/samples/sign-in-with-code.ts';
import type { Client } from '../../packages/platform/test/start-test-platform.ts';

export type MadeRooms = {
  readonly scenario: string;
  readonly script: string;
  readonly order: string;
  readonly row: string;
};

type Call = (method: string, path: string, body: object) => Promise<{ id: string }>;

const BILL = {
  code: 'bill',
  name: 'Sum of a bill',
  opts: { comment: 'Adds up what is on the bill and tells whether it is a large one.', variables: { limit: 100 } },
  scriptdata: {
    scriptVersion: 1,
    variables: [
      { name: 'items', type: 5, location: 2 },
      { name: 'limit', type: 2, location: 1 },
      { name: 'total', type: 2, location: 3 },
    ],
    objects: [
      {
        oId: 1,
        oType: 101,
        name: 'start',
        inputs: [{ name: 'items', required: true }],
        transfer: 2,
        oLeft: 0,
        oTop: 60,
      },
      { oId: 2, oType: 110, name: 'begin', assign: [{ name: 'total', expr: '0' }], transfer: 3, oLeft: 290, oTop: 60 },
      {
        oId: 3,
        oType: 112,
        name: 'each item',
        list: 'items',
        item: 'item',
        body: 4,
        transfer: 5,
        oLeft: 580,
        oTop: 60,
      },
      {
        oId: 4,
        oType: 110,
        name: 'add',
        assign: [{ name: 'total', expr: 'total + item.price' }],
        oLeft: 870,
        oTop: -40,
      },
      {
        oId: 5,
        oType: 111,
        name: 'large?',
        cases: [{ cond: 'total > limit', transfer: 6 }],
        transfer: 7,
        oLeft: 870,
        oTop: 140,
      },
      {
        oId: 6,
        oType: 180,
        name: 'told',
        level: 'info',
        text: '{{total}} is much',
        transfer: 7,
        oLeft: 1160,
        oTop: 60,
      },
      { oId: 7, oType: 102, name: 'sum', result: { total: 'total' }, oLeft: 1160, oTop: 240 },
      { oId: 8, oType: 103, name: 'Note', text: 'Prices are in crowns, without tax.', oLeft: 290, oTop: 240 },
    ],
  },
};

export const fillRooms = async (admin: Client, call: Call): Promise<MadeRooms> => {
  const scenario = await call('POST', 'service/svcscripts', signInWithCode.body);
  const script = await call('POST', 'service/svcscripts', BILL);
  const thing = await call('POST', 'design/classes', {
    classname: 'shop/Thing',
    storage_mode: 'abstract',
    properties: [
      { name: 'title', caption: 'What it is called', data_type: 'string', required: true },
      { name: 'tags', data_type: 'string', multi: true },
    ],
  });
  const order = await call('POST', 'design/classes', {
    classname: 'shop/Order',
    parent_id: thing.id,
    opts: { title: 'Orders', lookup_properties: ['title'] },
    properties: [
      { name: 'state', data_type: 'enum', items: ['open', 'paid', 'sent'], default: 'open' },
      { name: 'amount', data_type: 'integer', required: true },
      { name: 'due', data_type: 'date' },
      { name: 'paper', caption: 'Invoice', data_type: 'attachment' },
    ],
  });
  const titles = ['Green tea', 'Teapot', 'Cups', 'Tray', 'Honey'];
  const rows: string[] = [];
  for (const [at, title] of titles.entries()) {
    const body = {
      title,
      amount: at + 1,
      state: at % 2 ? 'paid' : 'open',
      due: `2026-12-0${at + 1}`,
      tags: ['kitchen'],
    };
    rows.push((await call('POST', 'model/shop/Order', body)).id);
  }
  const paper = await admin.call('PUT', `model/shop/Order/${rows[0]}/paper?name=invoice-1042.txt`, {
    headers: { 'content-type': 'text/plain' },
    body: 'Green tea, 1 box',
  });
  if (paper.status !== 200) throw new Error(`the file was answered ${paper.status} ${paper.text}`);
  return { scenario: scenario.id, script: script.id, order: order.id, row: rows[0]! };
};

export const roomScenesOf = ({ scenario, script, order, row }: MadeRooms) => [
  { name: 'scripts', path: '/service/svcscripts' },
  { name: 'scenario', path: `/service/svcscripts/${scenario}` },
  { name: 'script', path: `/service/svcscripts/${script}`, prepare: chooseElement },
  { name: 'trace', path: `/service/svcscripts/${script}`, prepare: trace },
  { name: 'class', path: `/design/classes/${order}` },
  { name: 'properties', path: `/design/classes/${order}`, prepare: showProperties },
  { name: 'rows', path: '/model/shop/Order' },
  { name: 'row', path: `/model/shop/Order/${row}`, prepare: showFile },
];

const chooseElement = async (page: Page): Promise<void> => {
  await page.getByRole('group', { name: '5 · large?', exact: true }).click();
  await page.locator('.script-side').scrollIntoViewIfNeeded();
};

const trace = async (page: Page): Promise<void> => {
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByLabel('items').fill('[{"price": 40}, {"price": 75}]');
  await page.getByRole('button', { name: 'Run and trace' }).click();
  await page.locator('.trace-steps li:nth-child(7) button').click();
  await page.getByRole('button', { name: 'Show everything' }).click();
  await page.locator('.trace-steps').scrollIntoViewIfNeeded();
};

const showProperties = (page: Page): Promise<void> =>
  page.getByRole('region', { name: 'Inherited' }).scrollIntoViewIfNeeded();

const showFile = (page: Page): Promise<void> => page.locator('[data-attachment="paper"]').scrollIntoViewIfNeeded();
