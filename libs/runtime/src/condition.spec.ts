import { expect, it } from 'vitest';
import { Condition } from './condition.js';

it('changes once, however many attempts find it as it was', () => {
  const redis = new Condition<'there' | 'away'>('there');
  expect(redis.becomes('there')).toBe(false);
  expect([redis.becomes('away'), redis.becomes('away'), redis.state]).toEqual([
    true,
    false,
    'away',
  ]);
  expect([redis.becomes('there'), redis.becomes('there'), redis.becomes('away')]).toEqual([
    true,
    false,
    true,
  ]);
});
