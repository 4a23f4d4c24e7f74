import negotiate from '@fastify/accept-negotiator';
import { de } from './texts.de.js';
import { en } from './texts.en.js';
import type { accountTexts } from './account.en.js';

/** What every language has to say: a text that is missing does not compile. */
export type Texts = typeof en;

export type AccountTexts = typeof accountTexts;

export const languages = { en, de } satisfies Record<string, Texts>;

export type Language = keyof typeof languages;

/** Characters of a header that are looked at. */
const maxLength = 1_000;

/**
 * The language of ours that somebody likes best (RFC 9110, 12.5.4; `de-AT` is `de`), English where there is none.
 *
 * @param accepted the header Accept-Language.
 */
export function languageOf(accepted: string | undefined): Language {
  const ranges = (accepted ?? '').slice(0, maxLength).toLowerCase();
  return (negotiate(ranges.replace(/-[a-z\d-]+/g, ''), Object.keys(languages)) ?? 'en') as Language;
}
