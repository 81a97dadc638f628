/** Reads server-sent events (WHATWG HTML §9.2.6) from the body of a fetch. */

export type StreamEvent = {
  /** The number to go on after; empty before the first that has one. */
  readonly id: string;
  readonly name: string;
  readonly data: string;
};

const LINE_END = /\r\n|\n|\r/;

/** Hands over every event in order; resolves when the stream ends, rejects when it breaks. */
export const readEvents = async (
  body: ReadableStream<Uint8Array>,
  onEvent: (event: StreamEvent) => void,
): Promise<void> => {
  const take = createLineReader(onEvent);
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    // A line end at the very end may be the first half of two.
    const lines = text.split(LINE_END);
    text = text.endsWith('\r') ? `${lines.splice(-2).join('')}\r` : lines.pop()!;
    for (const line of lines) take(line);
  }
};

/** Takes one line after the other, without their ends. */
const createLineReader = (onEvent: (event: StreamEvent) => void): ((line: string) => void) => {
  const fields = { id: '', event: '', data: [] as string[] };
  const finish = (): void => {
    const { id, event, data } = fields;
    if (data.length > 0) onEvent({ id, name: event === '' ? 'message' : event, data: data.join('\n') });
    fields.event = '';
    fields.data = [];
  };
  return (line) => {
    if (line === '') return finish();
    const [, name = line, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'data') fields.data.push(value);
    else if (name === 'event' || name === 'id') fields[name] = value;
  };
};
