/** Everything the speech service answers. What is not in this list is not served. */
import { TRANSCRIPTION_NOTES } from './dialects/compat/notes.ts';
import { compatEndpoints } from './dialects/compat/routes.ts';
import type { DialectParts, SpeechEndpoint } from './dialects/dialect.ts';
import { ASR_NOTES, DETECT_NOTES } from './dialects/legacy/notes.ts';
import { legacyEndpoints } from './dialects/legacy/routes.ts';
import { MODEL_NOTES } from './dialects/native/models.ts';
import { JOB_NOTES, TRANSCRIBE_NOTES } from './dialects/native/notes.ts';
import { nativeEndpoints } from './dialects/native/routes.ts';
import { type HealthParts, healthEndpoints } from './server/health.ts';
import { type MetricsParts, metricsEndpoint } from './server/metrics.ts';
import { openApiEndpoint } from './server/openapi.ts';
import { pageEndpoints } from './server/pages.ts';
import type { FieldNotes } from './server/reference.ts';

export type EndpointParts = DialectParts & HealthParts & MetricsParts & { readonly uiEnabled: boolean };

/** The version the published description carries. */
const API_VERSION = 'v1.1.1';

const NOTES: FieldNotes = {
  ...MODEL_NOTES,
  'POST /api/v1/transcribe': TRANSCRIBE_NOTES,
  'POST /api/v1/jobs': JOB_NOTES,
  'POST /v1/audio/transcriptions': TRANSCRIPTION_NOTES,
  'POST /asr': ASR_NOTES,
  'POST /asr_task': ASR_NOTES,
  'POST /detect-language': DETECT_NOTES,
};

/** Every endpoint of every dialect and the service's own. */
export const endpointsOf = (parts: EndpointParts): SpeechEndpoint[] => {
  const described = { endpoints: () => all, version: API_VERSION };
  const all: SpeechEndpoint[] = [
    ...nativeEndpoints(parts),
    ...compatEndpoints(parts),
    ...legacyEndpoints(parts),
    ...pageEndpoints({ ...described, notes: NOTES, uiEnabled: parts.uiEnabled }),
    openApiEndpoint(described),
    ...healthEndpoints(parts),
    metricsEndpoint(parts),
  ];
  return all;
};
