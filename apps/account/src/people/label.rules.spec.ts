import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { appLabel, cleanLabel } from './label.rules.js';

describe('a label', () => {
  it.each([
    ['AntennaPod', 'AntennaPod'],
    ['  My \t phone\n ', 'My phone'],
    ['a\u202Eevil\u2066b', 'aevilb'],
    ['a\u0085b\uD800c', 'a b c'],
    ['Pod\u3164\u00AD\uFE0Fcast', 'Podcast'],
    ['\u200B\u0000', ''],
    ['\u3164', ''],
    ['“ – ”', ''],
    ['🎧', ''],
    ['🎧 7', '🎧 7'],
    ['x'.repeat(100), 'x'.repeat(64)],
    [`a${'😀'.repeat(100)}`, `a${'😀'.repeat(63)}`],
  ])('%j is shown as %j', (text, label) => {
    expect(cleanLabel(text)).toBe(label);
  });

  it('has at most 64 characters, all of them visible', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const label = cleanLabel(text);
        expect([...label].length).toBeLessThanOrEqual(64);
        expect(label).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u);
        expect(label).toMatch(/^$|[\p{L}\p{N}]/u);
        expect(cleanLabel(label)).toBe(label);
      }),
    );
  });
});

// The user agents of tests/clients/recordings.
it.each([
  ['AntennaPod/3.12.0', 'AntennaPod'],
  ['Kasts/26.11.70; Podcast Player', 'Kasts'],
  ['Podcasts', 'GNOME Podcasts'],
  ['Python/3.13 aiohttp/3.12.15', 'Python/3.13 aiohttp/3.12.15'],
  ['tauri-plugin-http', 'tauri-plugin-http'],
  ['Bank <b>/1', 'Bank <b>/1'],
  ['\u200B', 'App'],
])('the app %j is called %j', (userAgent, label) => expect(appLabel(userAgent)).toBe(label));
