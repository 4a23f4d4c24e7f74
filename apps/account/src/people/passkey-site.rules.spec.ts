import { expect, it } from 'vitest';
import { passkeySite } from './passkey-site.rules.js';

it.each([
  ['https://podcasts.example', 'podcasts.example', 'podcasts.example', 'https://podcasts.example'],
  ['https://podcasts.example:8443', undefined, 'podcasts.example', 'https://podcasts.example:8443'],
  // The public URL wins over the host of the request.
  ['https://podcasts.example', 'localhost:3000', 'podcasts.example', 'https://podcasts.example'],
  ['http://localhost:3000', '127.0.0.1:3000', 'localhost', 'http://localhost:3000'],
  ['http://192.168.1.5:3000', 'localhost:3000', 'localhost', 'http://localhost:3000'],
])('%s by the host %s has the site %s of %s', (publicUrl, host, id, origin) => {
  expect(passkeySite(publicUrl, host)).toEqual({ id, origin });
});

it.each([
  ['http://podcasts.example', 'podcasts.example'],
  ['https://192.0.2.1', '192.0.2.1'],
  ['https://[2001:db8::1]', '[2001:db8::1]'],
  ['http://127.0.0.1:3000', '127.0.0.1:3000'],
  ['http://127.0.0.1:3000', 'podcasts.example'],
  ['http://127.0.0.1:3000', 'localhost.evil.example'],
  ['http://127.0.0.1:3000', undefined],
])('%s by the host %s has no passkeys', (publicUrl, host) => {
  expect(passkeySite(publicUrl, host)).toBeUndefined();
});
