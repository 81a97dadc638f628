/** Everything that is fuzzed. */
import { api } from './api.ts';
import { archives, layers } from './archives.ts';
import { containers, waves } from './audio.ts';
import { claims, licences, manifests, merges, scripts, settings, templates, tokens } from './documents.ts';
import { bodies, uploads } from './forms.ts';
import { lists, patterns, routes } from './lists.ts';
import { sessions } from './socket.ts';
import { speech } from './speech.ts';
import type { Target } from './target.ts';
import { addresses, events, requests } from './wire.ts';

export const TARGETS: readonly Target[] = [
  uploads,
  bodies,
  lists,
  patterns,
  routes,
  merges,
  scripts,
  templates,
  settings,
  manifests,
  claims,
  licences,
  tokens,
  waves,
  containers,
  archives,
  layers,
  addresses,
  requests,
  events,
  api,
  speech,
  sessions,
];
