import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { guessFamily, guessRoles } from './inspect.ts';

const familyOf = (names: readonly string[], meta: Record<string, string> = {}): string | undefined =>
  guessFamily(guessRoles(names), new Map(Object.entries(meta)))?.family;

describe('an undescribed model folder', () => {
  it('of a zipformer pack is read as int8 encoder and joiner with the full decoder', () => {
    const names = ['encoder', 'decoder', 'joiner'].flatMap((role) => [
      `${role}-epoch-99-avg-1.onnx`,
      `${role}-epoch-99-avg-1.int8.onnx`,
    ]);
    assert.deepEqual(guessRoles([...names, 'tokens.txt', 'bpe.model', 'README.md']), {
      tokens: 'tokens.txt',
      joiner: 'joiner-epoch-99-avg-1.int8.onnx',
      decoder: 'decoder-epoch-99-avg-1.onnx',
      encoder: 'encoder-epoch-99-avg-1.int8.onnx',
    });
  });

  it('has a family by its files or its metadata', () => {
    const transducer = ['encoder.onnx', 'decoder.onnx', 'joiner.onnx', 'tokens.txt'];
    assert.equal(familyOf(transducer, { model_type: 'zipformer2' }), 'transducer');
    assert.equal(familyOf(transducer, { model_type: 'EncDecRNNTBPEModel' }), 'nemo_transducer');
    assert.equal(familyOf(['model.int8.onnx', 'tokens.txt'], { model_type: 'EncDecCTCModelBPE' }), 'nemo_ctc');
    assert.equal(familyOf(['model.onnx', 'tokens.txt'], { model_type: 'zipformer2_ctc' }), 'zipformer_ctc');
    assert.equal(
      familyOf(['tiny-encoder.onnx', 'tiny-decoder.onnx', 'tiny-tokens.txt'], { model_type: 'whisper-tiny' }),
      'whisper',
    );
    assert.equal(
      familyOf(['preprocess.onnx', 'encode.int8.onnx', 'uncached_decode.int8.onnx', 'cached_decode.int8.onnx']),
      'moonshine',
    );
    assert.equal(familyOf(['silero_vad.onnx']), 'silero');
    assert.equal(familyOf(['model.onnx', 'bpe.vocab'], { COMMA: '1', MIX_CASE: '3' }), 'cnn_bilstm');
    assert.equal(familyOf(['model.onnx'], { model_type: 'something new' }), undefined);
  });

  it('of Moonshine has its four parts apart', () => {
    const names = [
      'preprocess.onnx',
      'encode.int8.onnx',
      'uncached_decode.int8.onnx',
      'cached_decode.int8.onnx',
      'tokens.txt',
    ];
    assert.deepEqual(guessRoles(names), {
      tokens: 'tokens.txt',
      preprocessor: 'preprocess.onnx',
      uncached_decoder: 'uncached_decode.int8.onnx',
      cached_decoder: 'cached_decode.int8.onnx',
      encoder: 'encode.int8.onnx',
    });
  });
});
