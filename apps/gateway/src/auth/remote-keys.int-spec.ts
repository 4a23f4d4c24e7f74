import { Failure } from '#contracts';
import { createLog } from '#runtime';
import { eventually } from '#testing';
import { errors, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeyProvider, newKey, sign } from '../../testing/key-provider.js';
import { discoverKeySet, RemoteKeys } from './remote-keys.js';

const log = createLog('test', 'silent');
const [never, always] = [3_600_000, 0];

let provider: KeyProvider;
beforeEach(async () => {
  provider = await KeyProvider.start();
});
afterEach(() => provider.stop());

const remote = (pace: { maxAge: number; coolDown: number }) =>
  new RemoteKeys(provider.url, async () => `${provider.url}/jwks`, log, pace);
const verify = async (keys: RemoteKeys, token: string) =>
  (await jwtVerify(token, keys.find)).payload.sub;

describe('the keys of a provider', () => {
  it('are fetched once for concurrent lookups', async () => {
    const key = await newKey('a');
    provider.keys = [key];
    const keys = remote({ maxAge: never, coolDown: never });
    const token = await sign(key, {});
    await Promise.all(Array.from({ length: 20 }, () => verify(keys, token)));
    expect(provider.requests).toBe(1);
  });

  it('are fetched again for an unknown key', async () => {
    const [old, key] = [await newKey('a'), await newKey('b')];
    provider.keys = [old];
    const keys = remote({ maxAge: never, coolDown: always });
    await verify(keys, await sign(old, {}));
    const before = keys.version();
    provider.keys = [old, key];
    expect(await verify(keys, await sign(key, {}))).toBe('ann');
    expect(keys.version()).not.toBe(before);
  });

  it('are not fetched within the cool-down for unknown keys', async () => {
    const [key, unknownKey] = [await newKey('a'), await newKey('x')];
    provider.keys = [key];
    const keys = remote({ maxAge: never, coolDown: never });
    for (let count = 0; count < 50; count++)
      await expect(verify(keys, await sign(unknownKey, {}))).rejects.toThrow(
        errors.JWKSNoMatchingKey,
      );
    expect(provider.requests).toBe(1);
  });

  it('are not fetched within the cool-down of a failed fetch', async () => {
    provider.status = 500;
    const [keys, token] = [
      remote({ maxAge: never, coolDown: never }),
      await sign(await newKey('a'), {}),
    ];
    for (let count = 0; count < 50; count++)
      await expect(verify(keys, token)).rejects.toMatchObject({
        code: 'unavailable',
      } satisfies Partial<Failure>);
    expect(provider.requests).toBe(1);
  });

  it('stay in use while the provider is down, and are replaced in the background', async () => {
    const [old, key] = [await newKey('a'), await newKey('b')];
    provider.keys = [old];
    const keys = remote({ maxAge: always, coolDown: always });
    const token = await sign(old, {});
    await verify(keys, token);
    const { port } = provider;
    await provider.stop();
    for (let count = 0; count < 5; count++) expect(await verify(keys, token)).toBe('ann');
    provider = await KeyProvider.start(port);
    provider.keys = [key];
    await eventually(() => expect(verify(keys, token)).rejects.toThrow(errors.JWKSNoMatchingKey));
  });

  it('stay in use after an invalid answer of the provider', async () => {
    const key = await newKey('a');
    provider.keys = [key];
    const keys = remote({ maxAge: always, coolDown: always });
    const token = await sign(key, {});
    await verify(keys, token);
    provider.status = 503;
    for (let count = 0; count < 5; count++) expect(await verify(keys, token)).toBe('ann');
  });
});

describe('discovery', () => {
  it('returns the key set of an issuer', async () => {
    expect(await discoverKeySet(provider.url)).toBe(`${provider.url}/jwks`);
  });

  it('rejects a document of another issuer', async () => {
    provider.impostor = 'https://id.example';
    await expect(discoverKeySet(provider.url)).rejects.toThrow(
      'is of another issuer: https://id.example',
    );
  });
});
