/** Tries a model folder in a child process before anything relies on it. */
import { probeModel } from '../recognizer/probe.ts';
import { type Manifest, ManifestFault, toEngineModel } from './manifest.ts';

/**
 * A probe for downloads and imports: rejects with the reason when a transcription model does not load and hear
 * a second of silence. Other kinds have no engine to try them in and pass.
 */
export const createProbe =
  (startTimeoutMs: number) =>
  async (manifest: Manifest, dir: string, signal: AbortSignal): Promise<void> => {
    if (manifest.kind !== 'asr') return;
    const outcome = await probeModel(toEngineModel(manifest, dir), { startTimeoutMs, signal });
    if (!outcome.ok) throw new ManifestFault(`The model does not load: ${outcome.reason}.`);
  };
