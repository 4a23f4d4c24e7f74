import { describe, expect, it } from 'vitest';
import { welcomeText } from './welcome.text.js';

const welcome = { baseUrl: 'http://127.0.0.1:3000', data: '.data', user: 'ann', token: 'a.b.c' };

describe('welcomeText', () => {
  it('has the base URL, the API reference, a token to paste and a first call', () => {
    const lines = welcomeText(welcome).split('\n');
    expect(lines).toContain('  Base URL       http://127.0.0.1:3000');
    expect(lines).toContain('  API reference  http://127.0.0.1:3000/docs');
    expect(lines).toContain('TOKEN=a.b.c');
    expect(lines).toContain('curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:3000/subscriptions');
  });

  it('tells how to make a token where the data is kept elsewhere', () => {
    expect(welcomeText({ ...welcome, data: '/srv/x' })).toContain('npm run -s token -- USER --data /srv/x');
  });
});
