import { expect, it } from 'vitest';
import { isSameOriginForm } from './same-origin.rules.js';

const host = '192.168.1.5:3002';
const origin = 'https://accounts.example';

it.each([
  [{ 'sec-fetch-site': 'same-origin' }],
  // The user reloaded or opened the page in the browser itself.
  [{ 'sec-fetch-site': 'none' }],
  // Without TLS, browsers only send `Origin`, and scripts send nothing.
  [{ origin }],
  [{ origin: 'http://192.168.1.5:3002' }],
  [{}],
])('a form with %j is ours', (headers) => {
  expect(isSameOriginForm({ host, ...headers }, origin)).toBe(true);
});

it.each([
  [{ 'sec-fetch-site': 'cross-site' }],
  [{ 'sec-fetch-site': 'same-site', origin }],
  [{ 'sec-fetch-site': 'cross-site', origin: 'null' }],
  [{ origin: 'https://evil.example' }],
  [{ origin: 'null' }],
  // Another port of this host belongs to another program.
  [{ origin: 'http://192.168.1.5:3000' }],
])('a form with %j is not', (headers) => {
  expect(isSameOriginForm({ host, ...headers }, origin)).toBe(false);
});
