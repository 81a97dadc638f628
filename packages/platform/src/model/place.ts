/** What a path of the model API means: a collection, an item of it, or a property of the item. */
import type { DomainMemory } from '../domains/memory.ts';
import type { ModelClass } from './model-class.ts';

export type Place = {
  readonly domain: DomainMemory;
  readonly model: ModelClass;
  readonly id: string | undefined;
  readonly property: string | undefined;
};
