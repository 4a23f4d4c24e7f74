import { describe, expect, it } from 'vitest';
import { isDeviceId } from './account.contracts.js';

describe('isDeviceId', () => {
  it.each(['a', 'my-phone_1.x', 'Gerät', 'Gera\u0308t', '電話', 'x'.repeat(64)])(
    'accepts %s',
    (id) => expect(isDeviceId(id)).toBe(true),
  );

  it.each(['', 'a b', 'a/b', 'x'.repeat(65), 'a\u3164', 'a\uFE0F', 'a\uD800', 7, null])(
    'rejects %j',
    (id) => expect(isDeviceId(id)).toBe(false),
  );
});
