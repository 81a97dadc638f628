/* The reference page: sends what a try-it form holds and shows the answer. The key stays in this tab's session. */
const KEY = 'parley-key';
const SHOWN_HEADERS = ['content-type', 'x-request-id', 'x-service-warnings', 'retry-after', 'allow', 'location'];
const MAX_SHOWN_CHARS = 200_000;

const keyField = document.getElementById('key');
keyField.value = sessionStorage.getItem(KEY) ?? '';
keyField.addEventListener('input', () => sessionStorage.setItem(KEY, keyField.value.trim()));

const addressOf = (form) => {
  let address = form.dataset.path;
  for (const input of form.querySelectorAll('[data-in="path"]')) {
    address = address.replace(`{${input.name}}`, encodeURIComponent(input.value));
  }
  const query = form.querySelector('[data-in="query"]')?.value.trim().replace(/^\?/, '');
  return query ? `${address}?${query}` : address;
};

const bodyOf = (form) => {
  if (form.dataset.method === 'GET' || !form.querySelector('[data-in="form"]')) return undefined;
  const body = new FormData();
  for (const input of form.querySelectorAll('[data-in="form"]')) {
    if (input.type === 'file') {
      if (input.files[0]) body.append(input.name, input.files[0]);
    } else if (input.value !== '') body.append(input.name, input.value);
  }
  return body;
};

const prettify = (text, type) => {
  if (!type.includes('json')) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
};

/** Shows a body as it comes, so that an event stream can be watched. */
const readBody = async (response, show) => {
  const type = response.headers.get('content-type') ?? '';
  if (!response.body) return show('');
  let text = '';
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
    if (type.includes('event-stream')) show(text.slice(-MAX_SHOWN_CHARS));
  }
  show(prettify(text, type).slice(0, MAX_SHOWN_CHARS));
};

const send = async (form) => {
  const output = form.querySelector('output');
  const button = form.querySelector('button');
  const [status, body] = [document.createElement('p'), document.createElement('pre')];
  status.textContent = 'Waiting…';
  body.tabIndex = 0;
  output.replaceChildren(status);
  button.disabled = true;
  const startedMs = performance.now();
  try {
    const key = keyField.value.trim();
    const response = await fetch(addressOf(form), {
      method: form.dataset.method,
      redirect: 'manual',
      headers: key === '' ? {} : { Authorization: `Bearer ${key}` },
      body: bodyOf(form),
    });
    const headers = SHOWN_HEADERS.filter((name) => response.headers.has(name));
    const lines = headers.map((name) => `${name}: ${response.headers.get(name)}`).join('\n');
    output.append(body);
    await readBody(response, (text) => {
      body.textContent = lines === '' ? text : `${lines}\n\n${text}`;
    });
    const took = Math.round(performance.now() - startedMs);
    status.textContent =
      response.type === 'opaqueredirect'
        ? 'Redirects elsewhere.'
        : `${response.status} ${response.statusText}, ${took} ms`;
  } catch {
    status.textContent = 'The server cannot be reached.';
  } finally {
    button.disabled = false;
  }
};

for (const form of document.querySelectorAll('form[data-path]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void send(form);
  });
}

/** A link such as #error-queue_full may point into something that is folded. */
const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target?.closest('details');
  if (folded) folded.open = true;
  target?.scrollIntoView();
};
addEventListener('hashchange', unfold);
if (location.hash) unfold();
