/* The test page: sends a recording to POST /api/v1/transcribe and shows what comes back. Plain DOM, no framework. */
const $ = (id) => document.getElementById(id);

const KEY = 'parley-key';
const UNSURE_BELOW = 0.5;

let file = null;
let fileUrl = '';
let transcript = null;
let running = null;
let words = [];

const readKey = () => sessionStorage.getItem(KEY) ?? '';

const keyed = (options = {}) => {
  const key = readKey();
  return { ...options, headers: key === '' ? {} : { Authorization: `Bearer ${key}` } };
};

/** Opens the key dialog; resolves with true when a key was given. */
const askKey = (note) =>
  new Promise((resolve) => {
    const dialog = $('key-dialog');
    $('key-note').textContent = note;
    $('key').value = readKey();
    dialog.returnValue = '';
    dialog.addEventListener(
      'close',
      () => {
        const given = dialog.returnValue === 'save';
        if (given) sessionStorage.setItem(KEY, $('key').value.trim());
        resolve(given);
      },
      { once: true },
    );
    dialog.showModal();
    $('key').select();
  });

/** Fetches; on a 401 asks for a key and tries again. */
const call = async (url, options) => {
  for (;;) {
    const response = await fetch(url, keyed(options()));
    if (response.status !== 401) return response;
    const note = readKey() === '' ? 'This service asks for a key.' : 'This key is not accepted.';
    if (!(await askKey(`${note} It is kept until this tab is closed.`))) return response;
  }
};

const explain = async (response) => {
  const problem = await response.json().catch(() => ({}));
  const where = problem.param ? ` (${problem.param})` : '';
  return `${problem.detail ?? `The server answered ${response.status}.`}${where}`;
};

const element = (name, text, className) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
};

const showFault = (text) => $('fault').replaceChildren(...(text ? [element('p', text, 'notice bad')] : []));

const sizeOf = (bytes) =>
  bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1e3))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;

const choose = (chosen) => {
  if (!chosen) return;
  file = chosen;
  $('drop-title').textContent = file.name;
  $('drop-note').textContent = `${sizeOf(file.size)}. Press or drop to choose another`;
  $('start').disabled = running !== null;
};

const setRunning = (controller) => {
  running = controller;
  $('start').disabled = running !== null || file === null;
  $('stop').hidden = running === null;
  $('progress').hidden = running === null;
};

const formOf = () => {
  const form = new FormData();
  for (const [field, id] of [
    ['model', 'model'],
    ['channel_mode', 'channels'],
    ['hotwords', 'hotwords'],
  ]) {
    if ($(id).value.trim() !== '') form.append(field, $(id).value.trim());
  }
  form.append('file', file, file.name);
  return form;
};

const transcribe = async () => {
  const controller = new AbortController();
  setRunning(controller);
  showFault('');
  $('result').hidden = true;
  $('status').textContent = 'Sending and transcribing…';
  try {
    const sent = file;
    const response = await call('/api/v1/transcribe', () => ({
      method: 'POST',
      body: formOf(),
      signal: controller.signal,
    }));
    if (!response.ok) throw new Error(await explain(response));
    show(await response.json(), sent);
    $('status').textContent = 'Done.';
  } catch (thrown) {
    const stopped = thrown instanceof DOMException && thrown.name === 'AbortError';
    $('status').textContent = stopped ? 'Stopped.' : '';
    if (!stopped) showFault(thrown instanceof TypeError ? 'The server cannot be reached.' : thrown.message);
  } finally {
    setRunning(null);
  }
};

const clock = (seconds, point = '.') => {
  const ms = Math.max(0, Math.round(seconds * 1000));
  const pad = (value, width = 2) => String(Math.floor(value)).padStart(width, '0');
  return `${pad(ms / 3_600_000)}:${pad((ms / 60_000) % 60)}:${pad((ms / 1000) % 60)}${point}${pad(ms % 1000, 3)}`;
};

const show = (result, sent) => {
  transcript = result;
  URL.revokeObjectURL(fileUrl);
  fileUrl = URL.createObjectURL(sent);
  $('audio').src = fileUrl;
  const { stats } = result;
  $('facts').textContent =
    `${result.model}, language ${result.language}, ${result.duration.toFixed(1)} s of sound in ` +
    `${(stats.processing_ms / 1000).toFixed(1)} s`;
  showWarnings(result.warnings);
  words = [];
  $('segments').replaceChildren(...result.segments.map(segmentRow));
  if (result.segments.length === 0) $('segments').append(element('li', 'No speech was heard.'));
  $('result').hidden = false;
  $('result-title').focus();
};

const showWarnings = (warnings) => {
  if (warnings.length === 0) return $('warnings').replaceChildren();
  const list = element('ul');
  list.append(...warnings.map((warning) => element('li', warning.message)));
  const box = element('div', undefined, 'notice');
  box.append(list);
  $('warnings').replaceChildren(box);
};

const segmentRow = (segment) => {
  const row = element('li');
  const time = element('time', clock(segment.start).slice(segment.start < 3600 ? 3 : 0, -2));
  time.dateTime = `PT${segment.start}S`;
  const text = element('div');
  if (segment.speaker) text.append(element('strong', `${segment.speaker}: `));
  const pieces = segment.words ?? [{ word: segment.text, start: segment.start, end: segment.end }];
  for (const piece of pieces) {
    const button = element('button', piece.word, piece.confidence < UNSURE_BELOW ? 'unsure' : '');
    button.type = 'button';
    const sure = piece.confidence === undefined ? '' : `, confidence ${Math.round(piece.confidence * 100)} %`;
    button.title = `${clock(piece.start)} to ${clock(piece.end)}${sure}`;
    button.addEventListener('click', () => playAt(piece.start));
    words.push({ ...piece, button });
    text.append(button, ' ');
  }
  row.append(time, text);
  return row;
};

const playAt = (seconds) => {
  const audio = $('audio');
  audio.currentTime = seconds;
  audio.play().catch(() => {
    $('status').textContent = 'This browser cannot play the format of the recording.';
  });
};

const markNow = () => {
  const now = $('audio').currentTime;
  for (const word of words) word.button.classList.toggle('now', now >= word.start && now < word.end);
};

/** Cues of readable length: at most 84 characters and 7 seconds, cut between words. */
const cuesOf = (segments) => {
  const cues = [];
  for (const segment of segments) {
    let open = null;
    for (const piece of segment.words ?? [{ word: segment.text, start: segment.start, end: segment.end }]) {
      const fits = open && open.text.length + 1 + piece.word.length <= 84 && piece.end - open.start <= 7;
      if (fits) Object.assign(open, { text: `${open.text} ${piece.word}`, end: piece.end });
      else {
        open = { start: piece.start, end: piece.end, text: piece.word };
        cues.push(open);
      }
    }
  }
  return cues.map((cue) => ({ ...cue, text: cue.text.replaceAll('-->', '->') }));
};

const EXPORTS = {
  txt: () => `${transcript.text}\n`,
  srt: () =>
    cuesOf(transcript.segments)
      .map((cue, at) => `${at + 1}\n${clock(cue.start, ',')} --> ${clock(cue.end, ',')}\n${cue.text}\n\n`)
      .join(''),
  vtt: () =>
    `WEBVTT\n\n${cuesOf(transcript.segments)
      .map(
        (cue) =>
          `${clock(cue.start)} --> ${clock(cue.end)}\n${cue.text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}\n\n`,
      )
      .join('')}`,
};

const save = (kind) => {
  const link = element('a');
  link.href = URL.createObjectURL(new Blob([EXPORTS[kind]()], { type: 'text/plain;charset=utf-8' }));
  link.download = `${file.name.replace(/\.[^.]*$/, '')}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

/** Fills the list of models when that needs no question: with the key already known, or none needed. */
const loadModels = async () => {
  const response = await fetch('/v1/models', keyed()).catch(() => null);
  if (!response?.ok) return;
  const { data } = await response.json();
  const options = data.map((model) => {
    const option = element('option', `${model.id} (${model.languages.join(', ')})`);
    option.value = model.id;
    return option;
  });
  $('model').replaceChildren($('model').options[0], ...options);
};

$('file').addEventListener('change', () => choose($('file').files[0]));
for (const name of ['dragenter', 'dragover']) {
  document.addEventListener(name, (event) => {
    event.preventDefault();
    $('drop').classList.add('over');
  });
}
for (const name of ['dragleave', 'drop']) document.addEventListener(name, () => $('drop').classList.remove('over'));
document.addEventListener('drop', (event) => {
  event.preventDefault();
  choose(event.dataTransfer.files[0]);
});
$('form').addEventListener('submit', (event) => {
  event.preventDefault();
  if (file !== null && running === null) void transcribe().then(loadModels);
});
$('stop').addEventListener('click', () => running?.abort());
$('audio').addEventListener('timeupdate', markNow);
$('copy').addEventListener('click', async () => {
  await navigator.clipboard.writeText(transcript.text);
  $('status').textContent = 'Copied.';
});
for (const button of document.querySelectorAll('[data-export]')) {
  button.addEventListener('click', () => save(button.dataset.export));
}
$('change-key').addEventListener('click', async () => {
  if (await askKey('It is kept until this tab is closed.')) await loadModels();
});
// Asking without a key would only be refused; where none is needed the list comes when it is wanted.
if (readKey() !== '') void loadModels();
else $('model').addEventListener('focus', loadModels, { once: true });
