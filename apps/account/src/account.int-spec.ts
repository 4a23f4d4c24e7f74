import { expect, it } from 'vitest';
import { AppStack } from '#testing';

it('starts on a migrated database and says that it is ready', async () => {
  const stack = await AppStack.open();
  try {
    const [account] = await stack.start(['account'], { OPS_PORT: '0' });
    const ready = await fetch(`http://127.0.0.1:${String(account?.facts['opsPort'])}/readyz`);
    expect(ready.status).toBe(200);
  } finally {
    await stack.close();
  }
});
