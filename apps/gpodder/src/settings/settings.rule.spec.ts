import { describe, expect, it } from 'vitest';
import { limitSettings, readSettingChanges } from './settings.rule.js';

const keys = (count: number) => Array.from({ length: count }, (_, at) => `k${at}`);
const set = (count: number) => Object.fromEntries(keys(count).map((key) => [key, 0]));

describe('a change of settings', () => {
  it('sets and removes as many keys as a scope has', () => {
    expect(readSettingChanges({ set: set(500), remove: keys(500) })).toEqual({
      set: set(500),
      remove: keys(500),
    });
  });

  it.each([
    ['to set', { set: set(501) }],
    ['to remove', { remove: keys(501) }],
  ])('is refused with more keys %s', (_, body) =>
    expect(() => readSettingChanges(body)).toThrow('invalid'),
  );

  it.each([{ ['k'.repeat(256)]: 1 }, { k: 'x'.repeat(65_536) }, set(501)])(
    'is refused beyond a limit of an empty scope (%#)',
    (values) => expect(() => limitSettings({ set: values, remove: [] })).toThrow('invalid'),
  );
});
