// The interactive reference: reads the description of the interface and lets whoever is signed in try it.

const el = (name, attributes = {}, ...children) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children);
  return node;
};

const byId = (id) => document.getElementById(id);

const showWho = async () => {
  const answer = await fetch('/rest/v1/iam/sessions/current');
  const session = answer.ok ? await answer.json() : undefined;
  byId('who').replaceChildren(
    ...(session
      ? [`${session.name_login} in ${session.domain} `, el('button', { onclick: signOut }, 'Sign out')]
      : ['Not signed in.']),
  );
};

const signOut = async () => {
  await fetch('/rest/v1/iam/sessions/current', { method: 'DELETE' });
  await showWho();
};

byId('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault();
  const { domain, login, pwd } = Object.fromEntries(new FormData(event.target));
  const answer = await fetch('/rest/v1/iam/sessions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...(domain ? { domain } : {}), login, pwd }),
  });
  if (answer.ok) {
    event.target.reset();
    await showWho();
  } else byId('who').textContent = (await answer.json()).error_message;
});

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

const render = (path, method, operation) => {
  const isLookup = operation['x-method'] === 'LOOKUP';
  const inputs = new Map();
  const fields = operation.parameters.map((parameter) => {
    const input = el('input', { placeholder: parameter.description ?? '' });
    inputs.set(parameter, input);
    return el('label', {}, `${parameter.name} (${parameter.in})`, input);
  });
  const schema = operation.requestBody?.content['application/json'].schema;
  const body = schema ? el('textarea', { 'aria-label': 'Body' }) : undefined;
  if (body) body.value = JSON.stringify(exampleOf(schema), null, 2);
  const output = el('pre', { hidden: '' });
  const send = async () => {
    let url = path;
    const query = new URLSearchParams();
    for (const [parameter, { value }] of inputs) {
      if (parameter.in === 'path')
        url = url.replace(`{${parameter.name}}`, value.split('/').map(encodeURIComponent).join('/'));
      else if (value !== '') query.set(parameter.name, value);
    }
    const answer = await fetch(query.size > 0 ? `${url}?${query}` : url, {
      method: method.toUpperCase(),
      ...(body ? { headers: { 'content-type': 'application/json' }, body: body.value } : {}),
    });
    const text = await answer.text();
    let shown = text;
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      // not JSON: as it is
    }
    output.hidden = false;
    output.textContent = `${answer.status} ${answer.statusText}\n\n${shown}`;
  };
  return el(
    'details',
    {},
    el('summary', {}, el('b', {}, isLookup ? 'LOOKUP' : method.toUpperCase()), `${path} — ${operation.summary}`),
    el(
      'div',
      {},
      el('p', {}, `Access: ${operation['x-access']}; domain: ${operation['x-domain-type']}.`),
      ...fields,
      ...(body
        ? [body, el('details', {}, el('summary', {}, 'Schema'), el('pre', {}, JSON.stringify(schema, null, 2)))]
        : []),
      el('p', {}, el('button', { onclick: send }, 'Send')),
      output,
    ),
  );
};

const start = async () => {
  const api = await (await fetch('/rest/v1/openapi.json')).json();
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const show = () => {
    const tag = decodeURIComponent(location.hash.slice(1)) || api.tags[0].name;
    byId('operations').replaceChildren(
      el('h2', {}, tag),
      ...operations
        .filter(({ operation }) => operation.tags.includes(tag))
        .map(({ path, method, operation }) => render(path, method, operation)),
    );
    byId('tags').replaceChildren(
      ...api.tags.map(({ name }) =>
        el('a', { href: `#${encodeURIComponent(name)}`, ...(name === tag ? { 'aria-current': 'true' } : {}) }, name),
      ),
    );
  };
  addEventListener('hashchange', show);
  show();
  await showWho();
};

await start();
