/** The streaming model families sherpa-onnx-node 1.13.8 reads; as sherpa-families.ts for the offline ones. */
import type { SherpaFamily } from './sherpa-families.ts';

const TRANSDUCER: SherpaFamily = {
  key: 'transducer',
  roles: [['encoder', 'decoder', 'joiner', 'tokens']],
  config: (files) => ({ encoder: files.encoder!, decoder: files.decoder!, joiner: files.joiner! }),
  timestamps: true,
  confidence: true,
  // A stream keeps its words: beam search would take some back.
  beamSearch: false,
  needsBlank: false,
  language: 'none',
  metadata: { encoder: ['model_type'], decoder: ['vocab_size', 'context_size'] },
};

const CTC: SherpaFamily = {
  ...TRANSDUCER,
  key: 'zipformer2Ctc',
  roles: [['model', 'tokens']],
  config: (files) => ({ model: files.model! }),
  confidence: false,
  needsBlank: true,
  metadata: {},
};

/** By the name a manifest uses. */
export const SHERPA_ONLINE_FAMILIES: Readonly<Record<string, SherpaFamily>> = {
  transducer: TRANSDUCER,
  nemo_transducer: {
    ...TRANSDUCER,
    language: 'chosen',
    metadata: { encoder: ['vocab_size', 'subsampling_factor'] },
  },
  zipformer2_ctc: CTC,
  zipformer_ctc: CTC,
  nemo_ctc: { ...CTC, key: 'nemoCtc', metadata: { model: ['vocab_size', 'subsampling_factor', 'window_size'] } },
  t_one_ctc: { ...CTC, key: 'toneCtc' },
  paraformer: {
    ...TRANSDUCER,
    key: 'paraformer',
    roles: [['encoder', 'decoder', 'tokens']],
    config: (files) => ({ encoder: files.encoder!, decoder: files.decoder! }),
    confidence: false,
    metadata: { encoder: ['lfr_window_size'] },
  },
};
