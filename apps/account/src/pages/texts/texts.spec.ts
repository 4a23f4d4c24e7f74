import { expect, it } from 'vitest';
import { languageOf, textsOf } from './texts.js';

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

/** Returns the paths of all texts. */
function paths(texts: object, prefix = ''): string[] {
  return Object.entries(texts).flatMap(([key, value]) =>
    typeof value === 'object' && value !== null
      ? paths(value as object, `${prefix}${key}.`)
      : [`${prefix}${key}`],
  );
}

it('has the same keys in every language, and no empty text', () => {
  for (const each of Object.values(textsOf)) {
    expect(paths(each)).toEqual(paths(textsOf.en));
    expect(JSON.stringify(each)).not.toMatch(/""/);
  }
});
