/* The live part of the test page: the microphone through GET /v1/realtime, texts as they come. Needs ui.js. */
const RATE = 24000;

let session = null;

/** One line a turn: what is settled, and behind it what may still change. */
const lineOf = (itemId) => {
  const known = document.getElementById(itemId);
  if (known) return known;
  const line = element('li');
  line.id = itemId;
  $('live').append(line);
  return line;
};

const hear = {
  'conversation.item.input_audio_transcription.delta': (event) => {
    lineOf(event.item_id).textContent = event.service?.text ?? lineOf(event.item_id).textContent + event.delta;
  },
  'conversation.item.input_audio_transcription.completed': (event) => {
    const line = lineOf(event.item_id);
    line.textContent = event.transcript;
    line.dataset.done = 'true';
    if (event.transcript === '') line.remove();
  },
  error: (event) => showFault(event.error.message),
};

const openSocket = () =>
  new Promise((resolve, reject) => {
    const url = new URL('/v1/realtime?intent=transcription', location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const protocols = readKey() === '' ? ['realtime'] : ['realtime', `openai-insecure-api-key.${readKey()}`];
    const socket = new WebSocket(url, protocols);
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => resolve(socket), { once: true });
    socket.addEventListener('error', () => reject(new Error('The service did not open a session.')), { once: true });
    socket.addEventListener('message', ({ data }) => {
      const event = JSON.parse(data);
      hear[event.type]?.(event);
    });
    socket.addEventListener('close', stopSpeaking);
  });

/** A browser tells a page nothing about a refused socket; an ordinary request shows whether the key is the reason. */
const keyIsAccepted = async () => (await call('/v1/models', () => ({}))).ok;

const startSpeaking = async () => {
  showFault('');
  if (!(await keyIsAccepted())) return;
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const audio = new AudioContext({ sampleRate: RATE });
  session = { stream, audio, socket: null };
  session.socket = await openSocket();
  await audio.audioWorklet.addModule('/ui/microphone.js');
  const microphone = new AudioWorkletNode(audio, 'microphone');
  microphone.port.addEventListener('message', ({ data }) => {
    if (session?.socket.readyState === WebSocket.OPEN) session.socket.send(data.buffer);
  });
  microphone.port.start();
  audio.createMediaStreamSource(stream).connect(microphone);
  showSpeaking();
};

const stopSpeaking = () => {
  const ended = session;
  session = null;
  showSpeaking();
  for (const track of ended?.stream.getTracks() ?? []) track.stop();
  void ended?.audio.close();
  ended?.socket?.close();
};

const showSpeaking = () => {
  $('speak').textContent = session === null ? 'Start speaking' : 'Stop';
  $('speak').setAttribute('aria-pressed', String(session !== null));
};

$('speak').addEventListener('click', async () => {
  if (session !== null) return stopSpeaking();
  $('speak').disabled = true;
  try {
    await startSpeaking();
  } catch (thrown) {
    stopSpeaking();
    showFault(thrown.name === 'NotAllowedError' ? 'The microphone was not allowed.' : thrown.message);
  } finally {
    $('speak').disabled = false;
  }
});
