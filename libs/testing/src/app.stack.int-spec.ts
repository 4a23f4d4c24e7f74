import { expect, it } from 'vitest';
import { AppStack } from './app.stack.js';

it('runs the built apps as single processes, and ends them all', async () => {
  const stack = await AppStack.open();
  try {
    const [gateway, subscription] = await stack.start(['gateway', 'subscription']);
    const device = await stack.device(gateway!);
    const body = { subscriptions: [{ feed_url: 'https://a.example/feed' }] };
    expect(await device.send('POST', '/subscriptions', { body })).toMatchObject({ status: 200 });
    subscription!.pause();
    subscription!.resume();
    await subscription!.kill();
    expect([gateway!.hasExited, subscription!.hasExited]).toEqual([false, true]);
    await stack.close();
    expect(gateway!.hasExited).toBe(true);
  } finally {
    await stack.close();
  }
});
