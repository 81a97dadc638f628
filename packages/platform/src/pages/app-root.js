// Signs in and out, and shows who is signed in with the applications of that account.

const SESSION = '/rest/v1/iam/sessions/current';

const byId = (id) => document.getElementById(id);
const form = byId('form');

const notice = (text) => {
  byId('notice').textContent = text;
  byId('notice').dataset.kind = 'bad';
  byId('notice').hidden = text === '';
};

/** An application may name any address; only pages of the web are linked. */
const linkTo = ({ name, url }) => {
  const target = url ? URL.parse(url, location.origin) : null;
  if (!target || !['http:', 'https:'].includes(target.protocol)) return document.createTextNode(name);
  const link = document.createElement('a');
  link.href = target.href;
  link.textContent = name;
  return link;
};

const showWebapp = (webapp) => {
  const item = document.createElement('li');
  item.append(linkTo(webapp));
  if (webapp.description) {
    const text = document.createElement('p');
    text.className = 'hint';
    text.textContent = webapp.description;
    item.append(text);
  }
  return item;
};

const show = (session) => {
  form.hidden = session !== undefined;
  byId('account').hidden = session === undefined;
  if (session === undefined) return byId('login').focus();
  byId('who').textContent = session.name_login;
  byId('where').textContent =
    session.webapps.length > 0 ? `In ${session.domain}:` : `In ${session.domain}. There are no applications for you.`;
  byId('webapps').replaceChildren(...session.webapps.map(showWebapp));
};

const load = async () => {
  const answer = await fetch(SESSION);
  show(answer.ok ? await answer.json() : undefined);
};

const signIn = async () => {
  const { domain, login, pwd } = Object.fromEntries(new FormData(form));
  const answer = await fetch('/rest/v1/iam/sessions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...(domain ? { domain } : {}), login, pwd }),
  });
  byId('pwd').value = '';
  if (answer.ok) return load();
  const { error_message, error_details } = await answer.json();
  const wait = error_details?.retry_after;
  notice(wait === undefined ? `${error_message}.` : `${error_message}. Try again in ${wait} seconds.`);
  byId('pwd').focus();
};

/** Runs what a person asked for, and says so when the platform is away. */
const attempt = async (task, button) => {
  notice('');
  if (button) button.disabled = true;
  try {
    await task();
  } catch {
    notice('The platform cannot be reached. Try again.');
  }
  if (button) button.disabled = false;
};

form.addEventListener('submit', (event) => {
  event.preventDefault();
  void attempt(signIn, form.querySelector('button'));
});
byId('sign-out').addEventListener('click', (event) => {
  void attempt(async () => {
    await fetch(SESSION, { method: 'DELETE' });
    await load();
  }, event.currentTarget);
});

await attempt(load);
