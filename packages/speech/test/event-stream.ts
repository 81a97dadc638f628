/** Reads an event stream as it comes. */
import assert from 'node:assert/strict';

export type EventMessage = { readonly id: string; readonly event: string; readonly data: unknown };
export type EventReader = AsyncIterable<EventMessage>;

/** Opens the stream; leaving the loop over it closes the connection. */
export const readEvents = async (url: string, headers: Readonly<Record<string, string>>): Promise<EventReader> => {
  const response = await fetch(url, { headers });
  assert.equal(response.status, 200);
  return parse(response);
};

async function* parse(response: Response): AsyncGenerator<EventMessage> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
      const lines = text.slice(0, at).split('\n');
      text = text.slice(at + 2);
      const fields = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s) as [string, string]));
      if (fields.data !== undefined) yield { id: fields.id!, event: fields.event!, data: JSON.parse(fields.data) };
    }
  }
}
