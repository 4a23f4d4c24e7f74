import { describe, expect, it } from 'vitest';
import { discoverIssuer } from './issuer.js';

const issuer = 'https://account.example';
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/reg`,
  device_authorization_endpoint: `${issuer}/device/auth`,
  revocation_endpoint: `${issuer}/token/revocation`,
};

/** Discovers the issuer of an API whose metadata has the given `resource`. */
const discover = (api: string, resource: string, more: object = {}) =>
  discoverIssuer(
    async (url) =>
      Response.json(
        String(url).includes('oauth-protected-resource')
          ? { resource, authorization_servers: [issuer] }
          : { ...metadata, ...more },
      ),
    api,
  );

const resource = 'https://sync.example.org';

describe('the API that the metadata names', () => {
  it.each([
    resource,
    'https://SYNC.example.org/v1',
    'http://localhost:3000',
    'http://homeserver:3000',
    'http://podcasts.local',
    'http://podcasts.home.arpa',
    'http://127.0.0.1:3000',
    'http://10.0.0.7',
    'http://192.168.1.7:3000',
    'http://172.16.0.7',
    'http://172.31.255.7',
    'http://100.64.0.7',
    'http://100.127.255.7',
    'http://[::1]:3000',
    'http://[fd12:3456::7]',
  ])('can be https://sync.example.org for an app that uses %s', async (api) => {
    expect(await discover(api, resource)).toEqual({ ...metadata, resource });
  });

  it.each([
    'https://evil.example',
    'https://sync.example.org.evil.example',
    'https://sync.example.org:8443',
    'https://10.0.0.evil.example',
    'https://localhost.evil.example',
    'https://198.51.100.7',
    'https://172.15.0.7',
    'https://172.32.0.7',
    'https://100.63.0.7',
    'https://100.128.0.7',
    'https://[2001:db8::7]',
  ])('cannot be https://sync.example.org for an app that uses %s', async (api) => {
    await expect(discover(api, resource)).rejects.toMatchObject({
      code: 'unexpected',
      message: expect.stringContaining(resource) as string,
    });
  });
});

describe('the endpoints of an issuer', () => {
  it.each(Object.keys(metadata).filter((name) => name.endsWith('_endpoint')))(
    'need TLS: %s',
    async (name) => {
      const insecure = { [name]: 'http://account.example/' };
      await expect(discover(resource, resource, insecure)).rejects.toMatchObject({
        code: 'unexpected',
      });
      const local = 'http://127.0.0.1:3000';
      expect(await discover(local, local, insecure)).toMatchObject(insecure);
    },
  );
});
