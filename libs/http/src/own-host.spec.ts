import { expect, it } from 'vitest';
import { hasValidHost, ownHostCheck } from './own-host.js';

const isOwn = ownHostCheck({
  PUBLIC_URL: 'https://sync.example.org',
  HOST_NAMES: ['pods.example'],
});

it.each([
  'sync.example.org',
  'Sync.Example.org',
  'pods.example',
  'localhost',
  '127.0.0.1',
  '[::1]',
  '192.168.1.9',
  'nas',
  'nas.local',
])('%s is a name of the server', (name) => expect(isOwn(name)).toBe(true));

it.each([
  'evil.example',
  'sync.example.org.evil.example',
  '203.0.113.9',
  '[2001:db8::1]',
  '',
  'a.localx',
])('%s is not a name of the server', (name) => expect(isOwn(name)).toBe(false));

it('a server without configured names accepts every name', () => {
  expect(ownHostCheck({})('evil.example')).toBe(true);
});

it.each([
  ['sync.example.org', true],
  ['sync_1.example:8080', true],
  ['127.0.0.1:3000', true],
  ['[::1]:3000', true],
  ['', true],
  ['a b', false],
  ['a.example:port', false],
  ['ann@a.example', false],
  ['a.example/path', false],
  ['[::1', false],
  ['b\u00fccher.example', false],
])('the Host %j is valid: %s', (host, isValid) =>
  expect(hasValidHost({ rawHeaders: ['Host', host], httpVersionMinor: 1 })).toBe(isValid),
);

it('HTTP/1.1 requires one Host, and HTTP/1.0 none', () => {
  const valid = (httpVersionMinor: number, ...rawHeaders: string[]) =>
    hasValidHost({ rawHeaders, httpVersionMinor });
  expect([valid(1), valid(0)]).toEqual([false, true]);
  expect(valid(1, 'Host', 'a.example', 'host', 'a.example')).toBe(false);
});
