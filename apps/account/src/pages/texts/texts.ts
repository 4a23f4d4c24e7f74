import negotiate from '@fastify/accept-negotiator';
import { type Language, languages } from '#ui';
import { de } from './de.js';
import { en, type Texts } from './en.js';

export type { Language, Texts };

/** Texts of the pages by language. */
export const textsOf: Readonly<Record<Language, Texts>> = { en, de };

const maxLength = 1_000;

/** Returns the preferred language of an `Accept-Language` header (RFC 9110, 12.5.4). */
export function languageOf(accepted: string | undefined): Language {
  const ranges = (accepted ?? '').slice(0, maxLength).toLowerCase();
  return (negotiate(ranges.replace(/-[a-z\d-]+/g, ''), [...languages]) ?? 'en') as Language;
}
