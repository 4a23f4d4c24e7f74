import { expect, it } from 'vitest';
import { addressForApps, isLoopbackUrl } from './connect-address.js';

it.each([
  ['https://sync.example', 'sync.example', 'https://sync.example'],
  ['https://sync.example/', '192.168.1.5:3000', 'https://sync.example'],
  ['https://sync.example/api', 'localhost', 'https://sync.example/api'],
  ['http://127.0.0.1:3000', '127.0.0.1:3000', 'http://127.0.0.1:3000'],
  ['http://127.0.0.1:3000', '192.168.1.5:3000', 'http://192.168.1.5:3000'],
  ['http://localhost:3000', 'box.local:3000', 'http://box.local:3000'],
  ['http://127.0.0.1:3000', '[::1]:3000', 'http://127.0.0.1:3000'],
  ['http://127.0.0.1:3000', undefined, 'http://127.0.0.1:3000'],
  ['http://127.0.0.1:3000', 'no host', 'http://127.0.0.1:3000'],
])('%s in a browser on %s is %s for apps', (configured, host, address) => {
  expect(addressForApps(configured, host)).toBe(address);
});

it('only loopback addresses are local', () => {
  expect(['http://localhost:1', 'http://127.8.9.10', 'http://[::1]'].every(isLoopbackUrl)).toBe(
    true,
  );
  expect(['http://10.0.0.1', 'https://localhost.example'].some(isLoopbackUrl)).toBe(false);
});
