import { expect, it } from 'vitest';
import { ownHost } from './own.host.js';

const isOwn = ownHost({ PUBLIC_URL: 'https://sync.example.org', HOST_NAMES: ['pods.example'] });

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
])('the server is meant by %s', (name) => expect(isOwn(name)).toBe(true));

it.each([
  'evil.example',
  'sync.example.org.evil.example',
  '203.0.113.9',
  '[2001:db8::1]',
  '',
  'a.localx',
])('nobody but somebody else points %s at the server', (name) => expect(isOwn(name)).toBe(false));

it('every name is one of a server that was not told its own', () => {
  expect(ownHost({})('evil.example')).toBe(true);
});
