/** What the pages of a service are shown in: width and appearance. */
import type { Page } from 'playwright-core';

export type Capture = {
  isWanted(name: string): boolean;
  shoot(page: Page, name: string): Promise<void>;
};

/** What a page is shown with. */
export type Scene = {
  readonly name: string;
  readonly path: string;
  /** Before the path, when it is not the service's own page. */
  readonly base?: string;
  readonly isGuest?: boolean;
  readonly prepare?: (page: Page) => Promise<void>;
  /** Where a whole screen would be mostly empty, px. */
  readonly height?: number;
};

export type Look = { readonly width: number; readonly height: number; readonly theme: 'light' | 'dark' };

export const LOOKS: readonly Look[] = (['light', 'dark'] as const).flatMap((theme) => [
  { width: 1440, height: 900, theme },
  { width: 360, height: 780, theme },
]);

export const nameOf = (scene: string, { width, theme }: Look): string => `${scene}-${theme}-${width}`;
