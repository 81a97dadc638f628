// Sets the password by the link of an invitation, and shows each fault at its field.

const FIELDS = ['pwd', 'again', 'login', 'name'];
/** Codes after which the link is good for nothing. */
const OVER = [1451, 1452];

const byId = (id) => document.getElementById(id);
const form = byId('form');
const button = form.querySelector('button');

const notice = (text, kind) => {
  byId('notice').textContent = text;
  byId('notice').dataset.kind = kind;
  byId('notice').hidden = text === '';
};

const clearFaults = () => {
  notice('', 'bad');
  for (const field of FIELDS) {
    byId(`${field}-fault`).hidden = true;
    byId(field).removeAttribute('aria-invalid');
  }
};

const showFault = (field, text) => {
  const fault = byId(`${field}-fault`);
  if (!fault) return notice(text, 'bad');
  if (byId('more').contains(fault)) byId('more').open = true;
  fault.textContent = text;
  fault.hidden = false;
  byId(field).setAttribute('aria-invalid', 'true');
  byId(field).focus();
};

const end = (text, kind) => {
  form.hidden = true;
  notice(text, kind);
};

const showAnswer = (status, body) => {
  if (status === 200) {
    byId('next').hidden = false;
    return end(`Your password is set. Your login is ${body.user.login}, in ${body.user.domain}.`, 'good');
  }
  const details = body.error_details ?? {};
  if (OVER.includes(body.error_code)) return end(`${body.error_message}. Ask for a new one.`, 'bad');
  if (status === 429) return notice(`Too many attempts. Try again in ${details.retry_after} seconds.`, 'bad');
  return showFault(details.field, `${details.msg ?? body.error_message}.`);
};

const send = async () => {
  const { pwd, login, name } = Object.fromEntries(new FormData(form));
  const id = location.pathname.split('/').pop();
  const answer = await fetch(`/rest/v1/iam/invites/${id}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ pwd, ...(login ? { login } : {}), ...(name ? { name } : {}) }),
  });
  showAnswer(answer.status, await answer.json());
};

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  clearFaults();
  if (byId('pwd').value === '') return showFault('pwd', 'Enter a password.');
  if (byId('pwd').value !== byId('again').value) return showFault('again', 'The two are not the same.');
  button.disabled = true;
  try {
    await send();
  } catch {
    notice('The platform cannot be reached. Try again.', 'bad');
  }
  button.disabled = false;
});
