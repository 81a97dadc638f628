import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { problem } from '../../core/codes.ts';
import type { RealtimeEvent } from '../../core/realtime.ts';
import { renderError, renderEvent, toMessage } from './realtime-events.ts';

const ITEM = { itemId: 'item_1', previousItemId: null };

describe('realtime events', () => {
  it('tell a failure with the item, as the API does', () => {
    const event: RealtimeEvent = { type: 'failed', itemId: 'item_1', problem: problem('inference_failed', 'It died.') };
    assert.deepEqual(renderEvent(event, true), [
      {
        type: 'conversation.item.input_audio_transcription.failed',
        item_id: 'item_1',
        content_index: 0,
        error: { message: 'It died.', type: 'server_error', param: null, code: 'inference_failed' },
      },
    ]);
  });

  it('carry the newer names only when they are on', () => {
    const completed: RealtimeEvent = {
      type: 'completed',
      ...ITEM,
      transcript: '',
      startMs: 20,
      endMs: 1020,
      model: 'm@1',
      language: 'en',
      words: undefined,
    };
    const names = (event: RealtimeEvent, ga: boolean): string[] => renderEvent(event, ga).map(({ type }) => type);
    assert.deepEqual(names({ type: 'committed', ...ITEM }, false), [
      'input_audio_buffer.committed',
      'conversation.item.created',
    ]);
    assert.deepEqual(names({ type: 'committed', ...ITEM }, true).at(-1), 'conversation.item.added');
    assert.equal(names(completed, false).length, 1);
    assert.equal(names(completed, true)[1], 'conversation.item.done');
    const [told] = renderEvent(completed, false);
    assert.deepEqual(told?.languages, [{ code: 'en' }]);
    assert.deepEqual(told?.usage, { type: 'duration', seconds: 1 });
    assert.deepEqual(told?.service, { start_ms: 20, end_ms: 1020, model: 'm@1' });
  });

  it('have an id each, and name the event at fault', () => {
    const one = JSON.parse(toMessage(renderError(problem('model_not_found', 'No.'), 'mine')));
    assert.match(one.event_id, /^event_/);
    assert.deepEqual(one.error, {
      message: 'No.',
      type: 'invalid_request_error',
      param: 'model',
      code: 'model_not_found',
      event_id: 'mine',
    });
    assert.notEqual(JSON.parse(toMessage({ type: 'x' })).event_id, JSON.parse(toMessage({ type: 'x' })).event_id);
  });
});
