/**
 * `npm run screenshots`: every page of both services, light and dark, at 360 and 1440 px, into docs/screens. Words after
 * `--` name the services or pages wanted. To be looked at one by one; the tests see what a program can see.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { capturePlatform } from './screenshots/platform.ts';
import type { Capture } from './screenshots/scene.ts';
import { captureSpeech } from './screenshots/speech.ts';

const FOLDER = fileURLToPath(new URL('../docs/screens/', import.meta.url));
const wanted = process.argv.slice(2);

/** Service → who shows its pages one after the other. */
const SERVICES: Readonly<Record<string, (capture: Capture) => Promise<void>>> = {
  speech: captureSpeech,
  platform: capturePlatform,
};

mkdirSync(FOLDER, { recursive: true });
for (const [service, run] of Object.entries(SERVICES)) {
  const isWanted = (name: string): boolean =>
    wanted.length === 0 || wanted.some((word) => `${service}-${name}`.includes(word));
  await run({
    isWanted,
    shoot: async (page, name) => {
      const path = `${FOLDER}${service}-${name}.png`;
      // The page's policy forbids the style with which carets are hidden.
      await page.screenshot({ path, caret: 'initial' });
      process.stdout.write(`${path}\n`);
    },
  });
}
