/** The reference page: every mounted endpoint by dialect, its fields, a curl line and a form to try it, and the codes. */
import { CODES } from '../core/codes.ts';
import type { FieldNote, SpeechEndpoint } from '../dialects/dialect.ts';
import { html, type Markup, prose } from './html.ts';
import { CODE_NOTES, WARNING_NOTES } from './notes.ts';

/** Fields of forms by `METHOD /path`. */
export type FieldNotes = Readonly<Record<string, readonly FieldNote[]>>;

/** The dialects in the order they are shown. */
export const DIALECTS: Readonly<Record<string, string>> = {
  native: 'Our own interface: every option, complete records, errors as problem+json.',
  compat: 'Shaped like the OpenAI API, for its SDKs and everything written for them.',
  legacy: 'Shaped like the Whisper ASR web service.',
  server: 'About the service itself; none of these needs a key.',
};
const PATH_PARAMETER = /:(\w+)/g;

/** The page as HTML. */
export const renderReference = (endpoints: readonly SpeechEndpoint[], notes: FieldNotes, version: string): string => {
  const shown = endpoints.filter(({ path }) => !/\/(:file|\*)$/.test(path));
  const tags = Object.keys(DIALECTS).filter((tag) => shown.some((endpoint) => endpoint.tag === tag));
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Parley speech: reference</title>
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/docs.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header class="top"><div><strong>Parley</strong>
<nav aria-label="Pages"><a href="/ui">Studio</a><a href="/docs/openapi.json">OpenAPI</a></nav></div></header>
<main id="main">
<h1>Speech recognition, reference</h1>
<p class="faint">Version ${version}. Everything runs on this machine; recordings go nowhere else.</p>
<div class="card">
<label for="key">API key for the forms below</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="sk-parley-…">
<p class="faint">Sent as ${prose('`Authorization: Bearer …`')}; kept until this tab is closed.</p>
</div>
${tags.map((tag) => renderDialect(tag, shown, notes))}
${renderConventions()}
${renderCodes()}
</main>
</body>
</html>
`.markup;
};

const renderDialect = (tag: string, endpoints: readonly SpeechEndpoint[], notes: FieldNotes): Markup => html`
<section aria-labelledby="${tag}"><h2 id="${tag}">${tag[0]!.toUpperCase()}${tag.slice(1)}</h2><p>${DIALECTS[tag]!}</p>
${endpoints
  .filter((endpoint) => endpoint.tag === tag)
  .map((endpoint) => renderEndpoint(endpoint, notes[`${endpoint.method} ${endpoint.path}`] ?? []))}
</section>`;

const renderEndpoint = (endpoint: SpeechEndpoint, fields: readonly FieldNote[]): Markup => {
  const path = endpoint.path.replaceAll(PATH_PARAMETER, '{$1}');
  return html`
<details><summary><span class="badge">${endpoint.method}</span><span class="path">${path}</span>
<span class="faint">${prose(endpoint.summary)}</span>${accessBadge(endpoint)}</summary>
<div class="body"><p>${prose(endpoint.description ?? '')}</p>
${fields.length > 0 ? renderFields(fields) : ''}
<h3>With curl</h3><pre tabindex="0"><code>${curlOf(endpoint, path, fields)}</code></pre>
<h3>Try it</h3>${renderForm(endpoint, path, fields)}</div></details>`;
};

const accessBadge = ({ access }: SpeechEndpoint): Markup | string => {
  if (access === 'open') return '';
  return access === 'admin' ? html`<span class="badge admin">admin key</span>` : html`<span class="badge">key</span>`;
};

const renderFields = (fields: readonly FieldNote[]): Markup => html`
<h3>Fields</h3><div class="scroll" tabindex="0"><table><thead><tr><th scope="col">Name</th><th scope="col">Kind</th>
<th scope="col">About</th></tr></thead><tbody>${fields.map(
  (field) =>
    html`<tr><td><code>${field.name}</code></td><td>${field.choices?.join(', ') ?? field.kind}${
      field.required ? ', required' : ''
    }</td><td>${prose(field.about)}</td></tr>`,
)}</tbody></table></div>`;

const curlOf = (endpoint: SpeechEndpoint, path: string, fields: readonly FieldNote[]): string => {
  const lines = [
    `curl${endpoint.method === 'GET' ? '' : ` -X ${endpoint.method}`} "$PARLEY_URL${path}"`,
    ...(endpoint.access === 'open' ? [] : ['-H "Authorization: Bearer $PARLEY_KEY"']),
    ...fields.filter(({ required }) => required).map(({ name }) => `-F ${name}=@recording.wav`),
  ];
  return lines.join(' \\\n  ');
};

const renderForm = (endpoint: SpeechEndpoint, path: string, fields: readonly FieldNote[]): Markup => {
  const id = `${endpoint.method}${path}`.replaceAll(/\W+/g, '-');
  const parameters = [...endpoint.path.matchAll(PATH_PARAMETER)].map((match) => match[1]!);
  return html`<form data-method="${endpoint.method}" data-path="${path}" aria-label="Try ${endpoint.method} ${path}">
<div class="fields">${parameters.map(
    (name) => html`<div><label for="${id}-${name}">${name}</label>
<input id="${id}-${name}" name="${name}" data-in="path" required autocomplete="off"></div>`,
  )}${endpoint.method === 'GET' && endpoint.access !== 'open' ? renderQuery(id) : ''}${fields.map((field) => renderInput(`${id}-${field.name.replaceAll(/\W/g, '')}`, field))}</div>
<button>Send</button><output aria-live="polite"></output></form>`;
};

const renderQuery = (id: string): Markup => html`<div><label for="${id}-query">Query</label>
<input id="${id}-query" data-in="query" autocomplete="off" spellcheck="false" placeholder="name=value&amp;…">
<small>As it stands after the question mark.</small></div>`;

const renderInput = (id: string, field: FieldNote): Markup => {
  const choices = field.kind === 'switch' ? ['true', 'false'] : field.choices;
  const common = html`id="${id}" name="${field.name}" data-in="form"${field.required ? html` required` : ''}`;
  const input = choices
    ? html`<select ${common}><option value=""></option>${choices.map((choice) => html`<option>${choice}</option>`)}</select>`
    : html`<input ${common} type="${field.kind === 'file' ? 'file' : 'text'}" autocomplete="off"${
        field.kind === 'number' ? html` inputmode="decimal"` : ''
      }>`;
  return html`<div><label for="${id}">${field.name}</label>${input}<small>${prose(field.about)}</small></div>`;
};

const renderConventions = (): Markup => html`
<section aria-labelledby="conventions"><h2 id="conventions">For every request</h2><div class="card">
<p>${prose('Times in results are seconds. Switches take `1 true yes on` and `0 false no off`. An empty field counts as not sent.')}</p>
<p>${prose(
  'What was not done as asked is said in `warnings` and in the header `X-Service-Warnings`. With the header ' +
    '`X-Service-Strict: 1` the service answers 422 instead of doing less.',
)}</p>
<p>${prose('Every answer has `X-Request-Id`; one you send is kept. 429 and 503 say in `Retry-After` how many seconds to wait.')}</p>
</div></section>`;

const renderCodes = (): Markup => html`
<section aria-labelledby="errors"><h2 id="errors">Errors</h2><div class="card scroll" tabindex="0"><table>
<thead><tr><th scope="col">Code</th><th scope="col">Status</th><th scope="col">Meaning</th></tr></thead>
<tbody>${Object.entries(CODE_NOTES).map(
  ([code, about]) =>
    html`<tr id="error-${code}"><td><code>${code}</code></td><td>${
      CODES[code as keyof typeof CODES]
    }</td><td>${prose(about)}</td></tr>`,
)}</tbody></table></div></section>
<section aria-labelledby="warnings"><h2 id="warnings">Warnings</h2><div class="card scroll" tabindex="0"><table>
<thead><tr><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead>
<tbody>${Object.entries(WARNING_NOTES).map(
  ([code, about]) => html`<tr id="warning-${code}"><td><code>${code}</code></td><td>${prose(about)}</td></tr>`,
)}</tbody></table></div></section>`;
