// The interactive reference: reads the description of the interface and lets whoever is signed in try it.

const SHOWN_HEADERS = ['content-type', 'etag', 'location', 'retry-after', 'allow', 'x-total-count', 'x-ignored-fields'];
const MAX_SHOWN_CHARS = 200_000;
const NARROW = '(max-width: 48rem)';

/** An element with its attributes (those that begin with `on` are listeners) and content. */
const el = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
};

/** Text in which `back-quoted` stretches are code. */
const prose = (text) => text.split('`').map((part, at) => (at % 2 === 1 ? el('code', {}, part) : part));

const byId = (id) => document.getElementById(id);

/** Every request goes through here: with the token when one is given, else with the session's cookie. */
const ask = (url, { headers = {}, ...rest } = {}) => {
  const token = byId('token').value.trim();
  const credential = token === '' ? {} : { authorization: `Bearer ${token}` };
  return fetch(url, { ...rest, headers: { ...headers, ...credential } });
};

const showWho = async () => {
  const answer = await ask('/rest/v1/iam/sessions/current');
  // Read in any case: a body that is left lying keeps its connection.
  const body = await answer.json();
  const session = answer.ok ? body : undefined;
  byId('sign-in').hidden = session !== undefined;
  const leave = el('button', { type: 'button', class: 'quiet', onclick: signOut }, 'Sign out');
  byId('who').replaceChildren(
    ...(session ? [`${session.name_login} in ${session.domain} `, leave] : ['Sign in to try what is not open to all.']),
  );
};

const signOut = async () => {
  await ask('/rest/v1/iam/sessions/current', { method: 'DELETE' });
  byId('token').value = '';
  await showWho();
};

byId('token').addEventListener('change', showWho);
byId('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault();
  const form = event.target;
  const { domain, login, pwd } = Object.fromEntries(new FormData(form));
  const answer = await fetch('/rest/v1/iam/sessions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...(domain ? { domain } : {}), login, pwd }),
  });
  if (answer.ok) {
    form.reset();
    await showWho();
  } else byId('who').textContent = (await answer.json()).error_message;
});

/** Something to begin with that has the shape of the schema. */
const exampleOf = (schema, depth = 0) => {
  if (!schema || depth > 4) return null;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (schema.oneOf) return exampleOf(schema.oneOf[0], depth + 1);
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (type === 'object') {
    const entries = Object.entries(schema.properties ?? {}).filter(([, inner]) => !inner.readOnly);
    return Object.fromEntries(entries.map(([name, inner]) => [name, exampleOf(inner, depth + 1)]));
  }
  return { array: [], string: '', integer: 0, number: 0, boolean: false }[type] ?? null;
};

const prettify = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** Sends what the form holds and shows the answer as it is. */
const send = async (url, init, output) => {
  const startedMs = performance.now();
  const status = el('p', {}, 'Waiting…');
  output.replaceChildren(status);
  try {
    const answer = await ask(url, init);
    const text = await answer.text();
    const headers = SHOWN_HEADERS.filter((name) => answer.headers.has(name));
    const lines = headers.map((name) => `${name}: ${answer.headers.get(name)}\n`).join('');
    status.className = answer.ok ? 'good' : 'bad';
    status.textContent = `${answer.status} ${answer.statusText}, ${Math.round(performance.now() - startedMs)} ms`;
    output.append(el('pre', { tabindex: '0' }, `${lines}\n${prettify(text)}`.slice(0, MAX_SHOWN_CHARS)));
  } catch {
    status.className = 'bad';
    status.textContent = 'The service cannot be reached.';
  }
};

/** The address with the values of its parameters. */
const addressOf = (path, inputs) => {
  let url = path;
  const query = new URLSearchParams();
  for (const [parameter, { value }] of inputs) {
    if (parameter.in === 'path')
      url = url.replace(`{${parameter.name}}`, value.split('/').map(encodeURIComponent).join('/'));
    else if (value !== '') query.set(parameter.name, value);
  }
  return query.size > 0 ? `${url}?${query}` : url;
};

const bodyOf = (text, file) => {
  if (text) return { headers: { 'content-type': 'application/json' }, body: text.value };
  const chosen = file?.files[0];
  if (!chosen) return {};
  const body = new FormData();
  body.set('file', chosen);
  return { body };
};

const fieldOf = (id, parameter) => {
  const isPath = parameter.in === 'path';
  const input = el('input', { id, autocomplete: 'off', ...(isPath ? { required: '' } : {}) });
  const about = parameter.description ? [el('small', {}, ...prose(parameter.description))] : [];
  return { input, field: el('div', {}, el('label', { for: id }, parameter.name), input, ...about) };
};

/** The form of an operation. */
const renderForm = (path, method, operation) => {
  const id = `${method}${path}`.replaceAll(/\W+/g, '-');
  const inputs = new Map();
  const fields = operation.parameters.map((parameter) => {
    const { input, field } = fieldOf(`${id}-${parameter.name}`, parameter);
    inputs.set(parameter, input);
    return field;
  });
  const schema = operation.requestBody?.content['application/json'].schema;
  const text = schema && el('textarea', { 'aria-label': 'Body', spellcheck: 'false' });
  if (text) text.value = JSON.stringify(exampleOf(schema), null, 2);
  // Without a schema a body is a file.
  const takesFile = !schema && ['put', 'post'].includes(method);
  const file = takesFile ? el('input', { type: 'file', 'aria-label': 'File' }) : undefined;
  const output = el('output', { 'aria-live': 'polite' });
  const button = el('button', {}, 'Send');
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    await send(addressOf(path, inputs), { method: method.toUpperCase(), ...bodyOf(text, file) }, output);
    button.disabled = false;
  };
  const shape = schema && [
    text,
    el(
      'details',
      {},
      el('summary', {}, 'Schema of the body'),
      el('pre', { tabindex: '0' }, JSON.stringify(schema, null, 2)),
    ),
  ];
  const label = `Try ${operation['x-method'] ?? method.toUpperCase()} ${path}`;
  return el(
    'form',
    { 'aria-label': label, onsubmit: submit },
    el('div', { class: 'fields' }, ...fields),
    ...(shape ?? []),
    ...(file ? [el('p', {}, file)] : []),
    el('p', {}, button),
    output,
  );
};

/** One operation, folded; what is inside is made when it is first opened. */
const renderOperation = (path, method, operation) => {
  const body = el('div', { class: 'body' });
  const fill = () => {
    if (body.hasChildNodes()) return;
    body.append(
      ...(operation.description ? [el('p', {}, ...prose(operation.description))] : []),
      renderForm(path, method, operation),
    );
  };
  const domain = operation['x-domain-type'];
  return el(
    'details',
    { ontoggle: fill },
    el(
      'summary',
      {},
      el('span', { class: 'badge method' }, operation['x-method'] ?? method.toUpperCase()),
      el('span', { class: 'path' }, path),
      el('span', { class: 'faint' }, ...prose(operation.summary)),
      el('span', { class: 'badge' }, operation['x-access']),
      ...(domain && domain !== 'any' ? [el('span', { class: 'badge' }, `${domain} domain`)] : []),
    ),
    body,
  );
};

const start = async () => {
  const api = await (await fetch('/rest/v1/openapi.json')).json();
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const current = () => {
    const named = decodeURIComponent(location.hash.slice(1));
    return api.tags.some(({ name }) => name === named) ? named : api.tags[0].name;
  };
  const showTags = () => {
    const word = byId('filter').value.trim().toLowerCase();
    const fits = ({ name }) =>
      name.toLowerCase().includes(word) ||
      operations.some(({ path, operation }) => operation.tags.includes(name) && path.toLowerCase().includes(word));
    byId('tags').replaceChildren(
      ...api.tags
        .filter(fits)
        .map(({ name }) =>
          el(
            'a',
            { href: `#${encodeURIComponent(name)}`, ...(name === current() ? { 'aria-current': 'true' } : {}) },
            name,
          ),
        ),
    );
  };
  const show = () => {
    const tag = current();
    const heading = el('h2', { id: 'tag', tabindex: '-1' }, tag);
    byId('operations').replaceChildren(
      heading,
      ...operations
        .filter(({ operation }) => operation.tags.includes(tag))
        .map(({ path, method, operation }) => renderOperation(path, method, operation)),
    );
    showTags();
    return heading;
  };
  addEventListener('hashchange', () => {
    // The skip link, too, changes the address.
    if (location.hash === '#main') return;
    if (matchMedia(NARROW).matches) byId('places').open = false;
    show().focus();
  });
  byId('filter').addEventListener('input', showTags);
  byId('places').open = !matchMedia(NARROW).matches;
  show();
  await showWho();
};

await start();
