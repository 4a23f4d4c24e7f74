import { de } from './de.js';
import { en } from './en.js';

/** What the console says, in one language. */
export type Texts = typeof en;

const spoken = ['de', 'en'];

/** The first language of who reads that there is, with its country, by which dates are written. */
export const locale = navigator.languages.find((tag) => spoken.includes(tag.slice(0, 2))) ?? 'en';

/** The same without a country. */
export const language = locale.slice(0, 2);

/** The texts in {@link language}. */
export const texts: Texts = language === 'de' ? de : en;
