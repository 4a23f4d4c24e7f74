import { expect, it } from 'vitest';
import { SharedStack } from '#testing';

it('starts on a migrated database and is ready', async () => {
  const { facts } = (await SharedStack.open()).app('account');
  const ready = await fetch(`http://127.0.0.1:${String(facts['opsPort'])}/readyz`);
  expect(ready.status).toBe(200);
});
