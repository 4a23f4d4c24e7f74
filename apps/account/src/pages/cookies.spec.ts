import fastifyCookie from '@fastify/cookie';
import fastify from 'fastify';
import { expect, it } from 'vitest';
import { Cookies } from './cookies.js';

/** Returns the header lines that set the cookies of a sign-in. */
async function signInCookies(publicUrl: string): Promise<unknown> {
  const [app, cookies] = [fastify(), new Cookies(publicUrl)];
  await app.register(fastifyCookie);
  app.get('/', (_request, reply) => {
    const session = { id: 'id', accountId: 'account', cookie: 'session' };
    cookies.setSignInCookies(reply, { session, device: 'device' });
    return '';
  });
  const { headers } = await app.inject('/');
  await app.close();
  return headers['set-cookie'];
}

it('keeps the session cookie for 365 days, and the device cookie for 400', async () => {
  const attributes = 'Path=/; HttpOnly; Secure; SameSite=Lax';
  expect(await signInCookies('https://accounts.example')).toEqual([
    `__Host-account-session=session; Max-Age=31536000; ${attributes}`,
    `__Host-account-browser=device; Max-Age=34560000; ${attributes}`,
  ]);
});

it('sets cookies without the prefix and Secure at an address without TLS', async () => {
  const attributes = 'Path=/; HttpOnly; SameSite=Lax';
  expect(await signInCookies('http://127.0.0.1:3000')).toEqual([
    `account-session=session; Max-Age=31536000; ${attributes}`,
    `account-browser=device; Max-Age=34560000; ${attributes}`,
  ]);
});
