import { describe, expect, it } from 'vitest';
import { checkSettingLimits, parseSettingChanges } from './settings.rules.js';

const keys = (count: number) => Array.from({ length: count }, (_, at) => `k${at}`);
const set = (count: number) => Object.fromEntries(keys(count).map((key) => [key, 0]));

describe('a change of settings', () => {
  it('can set and remove the maximum keys of a scope', () => {
    expect(parseSettingChanges({ set: set(500), remove: keys(500) })).toEqual({
      set: set(500),
      remove: keys(500),
    });
  });

  it.each([
    ['to set', { set: set(501) }],
    ['to remove', { remove: keys(501) }],
  ])('is rejected with more keys %s', (_, body) =>
    expect(() => parseSettingChanges(body)).toThrow('invalid'),
  );

  it.each([{ ['k'.repeat(256)]: 1 }, { k: 'x'.repeat(65_536) }, set(501)])(
    'is rejected above a limit of a scope (%#)',
    (values) => expect(() => checkSettingLimits({ set: values, remove: [] })).toThrow('invalid'),
  );
});
