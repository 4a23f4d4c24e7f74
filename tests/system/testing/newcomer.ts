import { join } from 'node:path';
import { repository } from '#testing';
import type { Locator, Page } from 'playwright-core';

/** Folder of the pictures; not part of the repository. */
const pictures = join(repository, '.data', 'pictures', 'walk');

/** A person in a browser whose clicks and typed fields are counted. */
export class Newcomer {
  readonly actions = { clicks: 0, fields: 0 };

  /** @param language of the person; a part of the names of pictures. */
  constructor(private readonly language: string) {}

  async click(locator: Locator): Promise<void> {
    this.actions.clicks++;
    await locator.click();
  }

  async type(field: Locator, text: string): Promise<void> {
    this.actions.fields++;
    await field.fill(text);
  }

  /** Takes pictures of a page on a computer and on a phone, light and dark, for designers. */
  async look(page: Page, name: string): Promise<void> {
    const size = page.viewportSize();
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const file = [name, this.language, width, colorScheme].join('-');
        await page.screenshot({ path: join(pictures, `${file}.png`), fullPage: true });
      }
    }
    await page.emulateMedia({ colorScheme: null });
    if (size) await page.setViewportSize(size);
  }
}
