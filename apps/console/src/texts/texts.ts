import { type Language, languages } from '#ui';
import { de } from './de.js';
import { en, type Texts } from './en.js';

const languageOf = (tag: string) => languages.find((language) => tag.startsWith(language));

/** The user's first language that the site supports, with its country. It formats dates. */
export const locale = navigator.languages.find(languageOf) ?? 'en';

/** The language of {@link locale}, without its country. */
export const language: Language = languageOf(locale) ?? 'en';

/** The texts in {@link language}. */
export const texts: Texts = { en, de }[language];
