/**
 * What was chosen and must outlive a restart: the model the first start took (`speech/default-model.json`), and the
 * revision an operator put in service (`speech/serving-models.json`).
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { type StagedFile, stageJsonFile, writeJsonFile } from './installed.ts';

/** Which step of the first-start rule gave the model. */
export type ChoiceOrigin = 'installed' | 'catalog' | 'debian' | 'demonstration';
type FirstChoice = {
  readonly id: string;
  readonly revision: string;
  readonly origin: ChoiceOrigin;
  /** ISO 8601. */
  readonly chosen_at: string;
};

export type Choices = {
  readonly first: () => FirstChoice | undefined;
  setFirst(choice: FirstChoice): Promise<void>;
  /** Revision in service for an id, when an operator chose one. */
  readonly serving: (id: string) => string | undefined;
  /** Writes the choice beside its place; it counts once it is kept. */
  stageServing(id: string, revision: string): Promise<StagedFile>;
};

const First = Compile(
  Type.Object({
    id: Type.String(),
    revision: Type.String(),
    origin: Type.Enum(['installed', 'catalog', 'debian', 'demonstration']),
    chosen_at: Type.String(),
  }),
);
const Serving = Compile(Type.Record(Type.String(), Type.String()));

const readJson = async (path: string): Promise<unknown> => {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    // Missing or damaged: the rule decides again.
    return undefined;
  }
};

export const openChoices = async (dataDir: string): Promise<Choices> => {
  const dir = join(dataDir, 'speech');
  await mkdir(dir, { recursive: true });
  const firstPath = join(dir, 'default-model.json');
  const servingPath = join(dir, 'serving-models.json');
  const readFirst = await readJson(firstPath);
  const readServing = await readJson(servingPath);
  let first: FirstChoice | undefined = First.Check(readFirst) ? (readFirst as FirstChoice) : undefined;
  let serving: Readonly<Record<string, string>> = Serving.Check(readServing) ? readServing : {};
  return {
    first: () => first,
    setFirst: async (choice) => {
      first = choice;
      await writeJsonFile(firstPath, choice);
    },
    serving: (id) => serving[id],
    stageServing: async (id, revision) => {
      const before = serving;
      const staged = await stageJsonFile(servingPath, { ...before, [id]: revision });
      return {
        keep: async () => {
          // What was kept of another model meanwhile is not in the staged file.
          const isOutdated = serving !== before;
          serving = { ...serving, [id]: revision };
          if (!isOutdated) return await staged.keep();
          await staged.drop();
          await writeJsonFile(servingPath, serving);
        },
        drop: staged.drop,
      };
    },
  };
};
