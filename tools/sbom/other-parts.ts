/** What npm does not know of: the models that lie in the repository, and what a first start may fetch from Debian. */
import { globSync, readFileSync } from 'node:fs';
import type { Component } from './shape.ts';

const MODELS = 'testdata/models/*/model.json';
const ROOT = new URL('../../', import.meta.url);

type Manifest = { readonly id: string; readonly revision: string; readonly license?: string };

const toModel = ({ id, revision, license }: Manifest): Component => ({
  'bom-ref': `model:${id}@${revision}`,
  type: 'machine-learning-model',
  name: id,
  version: revision,
  description: 'Made for this project; lies in testdata/models. The demonstration model is the offline transducer.',
  licenses: [{ license: license === undefined ? { name: 'unknown' } : { id: license } }],
});

/** Fetched when the service first starts without a model, where apt is to be had; apt chooses the version and checks it. */
const fromDebian = (name: string, licence: string): Component => ({
  'bom-ref': `debian:${name}`,
  type: name.startsWith('lib') ? 'library' : 'machine-learning-model',
  name,
  version: 'of the Debian or Ubuntu that it runs on',
  scope: 'optional',
  description: 'Not shipped: fetched at the first start, or by `models pull`, as it is in the archive of the system.',
  purl: `pkg:deb/debian/${name}`,
  licenses: [{ license: { id: licence } }],
});

/** Components for the bill, always in the same order. */
export const otherParts = (): Component[] => [
  ...globSync(MODELS, { cwd: ROOT })
    .sort()
    .map((path) => toModel(JSON.parse(readFileSync(new URL(path, ROOT), 'utf8')) as Manifest)),
  fromDebian('pocketsphinx-en-us', 'BSD-2-Clause'),
  fromDebian('libpocketsphinx3', 'BSD-2-Clause'),
];
