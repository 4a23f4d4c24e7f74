import { de } from './texts.de.js';
import { en } from './texts.en.js';
import type { accountTexts } from './account.en.js';

/** What every language has to say: a text that is missing does not compile. */
export type Texts = typeof en;

export type AccountTexts = typeof accountTexts;

export const languages = { en, de } satisfies Record<string, Texts>;

export type Language = keyof typeof languages;

/** Entries of Accept-Language that are looked at. */
const maxEntries = 20;

/**
 * The language of ours that somebody likes best (RFC 9110, 12.5.4; `de-AT` is `de`), English where there is none.
 *
 * @param accepted the header Accept-Language.
 */
export function languageOf(accepted: string | undefined): Language {
  let best: { language: Language; quality: number } | undefined;
  for (const entry of (accepted ?? '').slice(0, 1_000).split(',').slice(0, maxEntries)) {
    const [range = '', weight] = entry.trim().split(';');
    const language = range.split('-')[0]!.toLowerCase();
    const quality = weight === undefined ? 1 : Number(weight.trim().replace(/^q=/, ''));
    if (!Object.hasOwn(languages, language) || !(quality > (best?.quality ?? 0))) continue;
    best = { language: language as Language, quality };
  }
  return best?.language ?? 'en';
}
