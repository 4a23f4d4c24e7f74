import { expect, it } from 'vitest';
import { Condition } from './condition.js';

it('returns true only for a change of state', () => {
  const redis = new Condition<'connected' | 'disconnected'>('connected');
  expect(redis.becomes('connected')).toBe(false);
  expect([redis.becomes('disconnected'), redis.becomes('disconnected'), redis.state]).toEqual([
    true,
    false,
    'disconnected',
  ]);
  expect([
    redis.becomes('connected'),
    redis.becomes('connected'),
    redis.becomes('disconnected'),
  ]).toEqual([true, false, true]);
});
