import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { signInByLoopback } from './loopback.js';
import type { SignIn } from './sign-in.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

const signInWith = (begin: () => Promise<string>) => ({ begin }) as Partial<SignIn> as SignIn;
const fail = () => {
  throw new Error('failed');
};

it.each([
  ['the issuer', signInWith(async () => fail()), () => {}],
  ['the browser', signInWith(async () => 'https://account.example/auth'), fail],
])('ends the wait for the redirect if %s fails', async (_name, signIn, open) => {
  await expect(signInByLoopback(signIn, open)).rejects.toThrow('failed');
  // The time limit would later reject a promise that nothing awaits.
  expect(vi.getTimerCount()).toBe(0);
});

it('causes no unhandled rejection if the time limit ends before the issuer answers', async () => {
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  try {
    let answer = (_url: string) => {};
    const begin = vi.fn(() => new Promise<string>((resolve) => (answer = resolve)));
    const signedIn = signInByLoopback(signInWith(begin), () => {});
    await vi.waitFor(() => expect(begin).toHaveBeenCalled());
    await vi.advanceTimersByTimeAsync(600_000);
    await new Promise(setImmediate);
    expect(unhandled).not.toHaveBeenCalled();
    answer('https://account.example/auth');
    await expect(signedIn).rejects.toThrow('did not return within 10 minutes');
  } finally {
    process.off('unhandledRejection', unhandled);
  }
});
