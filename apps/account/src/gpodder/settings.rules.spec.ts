import { Failure, settingLimits } from '#contracts';
import { describe, expect, it } from 'vitest';
import { applySettingsChange, type SettingValues } from './settings.rules.js';

const outcome = (current: SettingValues, set: SettingValues, remove: string[] = []): unknown => {
  try {
    return applySettingsChange(current, set, remove).settings;
  } catch (error) {
    return error instanceof Failure ? error.code : error;
  }
};
const many = (count: number): SettingValues =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 0]));

describe('a change of settings', () => {
  it('sets before it removes and keeps other keys', () => {
    expect(outcome({ a: 1, b: 2 }, { b: [null], c: '' }, ['a', 'c', 'z'])).toEqual({ b: [null] });
  });

  it('accepts names of object members as keys', () => {
    expect(outcome({}, { constructor: 1, toString: null }, [])).toEqual({
      constructor: 1,
      toString: null,
    });
  });

  const text = (length: number) => 'x'.repeat(length);
  const scope = settingLimits.scopeBytes - '{"a":""}'.length;

  it.each<[string, SettingValues, SettingValues, string[], boolean]>([
    ['a key of 255 characters', {}, { ['😀'.repeat(255)]: 1 }, [], true],
    ['a key of 256 characters', {}, { ['😀'.repeat(256)]: 1 }, [], false],
    ['a key that is too long, and removed again', {}, { [text(256)]: 1 }, [text(256)], false],
    ['500 keys', many(499), { last: 1 }, [], true],
    ['501 keys', many(500), { last: 1 }, [], false],
    ['one key more and one less of 500', many(500), { last: 1 }, ['k0'], true],
    ['64 KiB of JSON', {}, { a: text(scope) }, [], true],
    ['a byte more', {}, { a: text(scope + 1) }, [], false],
    ['bytes, not characters', {}, { a: 'ä'.repeat(scope / 2 + 1) }, [], false],
  ])('%s', (_case, current, set, remove, isTaken) => {
    expect(outcome(current, set, remove) === 'invalid').toBe(!isTaken);
  });

  it('counts each scope with settings, however small, and no empty one', () => {
    const [one, none] = [
      applySettingsChange({}, { a: 1 }, []),
      applySettingsChange({ a: 1 }, {}, ['a']),
    ];
    expect([one.text, one.bytes, none.bytes]).toEqual(['{"a":1}', 7 + 128, 0]);
  });
});
