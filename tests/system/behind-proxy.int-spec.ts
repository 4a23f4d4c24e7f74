import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AppProcess, SharedStack, type Device } from '#testing';

let stack: SharedStack;
beforeAll(async () => {
  stack = await SharedStack.open();
});
afterAll(() => stack.close());

/** A gateway with these variables, asked by a user who has two subscriptions. */
async function asker(variables: Record<string, string>): Promise<Device> {
  const [gateway] = (await stack.start(['gateway'], variables)) as [AppProcess];
  const device = await stack.device(gateway);
  const subscriptions = [1, 2].map((n) => ({ feed_url: `https://feeds.example/${n}` }));
  expect((await device.send('POST', '/subscriptions', { body: { subscriptions } })).status).toBe(
    200,
  );
  return device;
}

const page = '/v1/subscriptions?per_page=1&color=red';

describe('the links of a list of a gateway behind a proxy', () => {
  it('start with PUBLIC_URL, and keep the requested prefix and all other parameters', async () => {
    const device = await asker({ PUBLIC_URL: 'https://sync.example/api/' });
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    const { body } = await device.send('GET', page, { headers });
    const next = new URL(String(body['next']));
    expect(next.origin + next.pathname).toBe('https://sync.example/api/v1/subscriptions');
    expect(Object.fromEntries(next.searchParams)).toMatchObject({
      per_page: '1',
      color: 'red',
      page: '2',
    });
  });

  it('have the host of the trusted proxy without PUBLIC_URL, like the ETag', async () => {
    const device = await asker({ TRUSTED_PROXIES: '127.0.0.1' });
    const ask = (host: string, etag = '"none"') =>
      device.send('GET', page, {
        headers: { 'x-forwarded-host': host, 'x-forwarded-proto': 'https', 'if-none-match': etag },
      });
    const { body, headers } = await ask('sync.example:8443');
    expect(String(body['next'])).toMatch(/^https:\/\/sync\.example:8443\/v1\/subscriptions\?/);
    const etag = String(headers.get('etag'));
    expect((await ask('sync.example:8443', etag)).status).toBe(304);
    expect((await ask('other.example', etag)).status).toBe(200);
  });
});
