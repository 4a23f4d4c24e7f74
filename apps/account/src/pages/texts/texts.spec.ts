import { expect, it } from 'vitest';
import { languageOf, languages, type Texts } from './texts.js';

it.each([
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['fr, en;q=0.5, de;q=0.7', 'de'],
  ['en-GB', 'en'],
  ['de;q=0, en;q=0.1', 'en'],
  ['DE', 'de'],
  ['fr', 'en'],
  ['', 'en'],
  [undefined, 'en'],
  ['constructor, de;q=0.5', 'de'],
  ['de;q=much', 'en'],
])('%j is read as %s', (accepted, language) => {
  expect(languageOf(accepted)).toBe(language);
});

/** Paths of every text. */
function paths(texts: object, prefix = ''): string[] {
  return Object.entries(texts).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null ? paths(value as object, `${prefix}${key}.`) : [`${prefix}${key}`],
  );
}

it('says the same things in every language, none of them nothing', () => {
  const all = Object.values(languages) as Texts[];
  for (const texts of all) {
    expect(paths(texts)).toEqual(paths(languages.en));
    expect(JSON.stringify(texts)).not.toMatch(/""/);
  }
});
