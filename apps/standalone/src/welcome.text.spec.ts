import { describe, expect, it } from 'vitest';
import { welcomeText } from './welcome.text.js';

const welcome = {
  baseUrl: 'http://127.0.0.1:3000',
  data: '.data',
  firstLink: 'http://127.0.0.1:3000/links/abc',
};

describe('welcomeText', () => {
  it('contains address, API reference, the link to the first account and a first call', () => {
    const lines = welcomeText(welcome).split('\n');
    expect(lines.find((line) => line.startsWith('  Address '))).toContain(
      ' http://127.0.0.1:3000 ',
    );
    expect(lines).toContain('  API reference  http://127.0.0.1:3000/docs');
    expect(lines).toContain('  http://127.0.0.1:3000/links/abc');
    expect(lines).toContain('TOKEN=$(npm run -s login -- --api http://127.0.0.1:3000)');
    expect(lines).toContain(
      'curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:3000/subscriptions',
    );
  });

  it.each(['AntennaPod', 'Cardo', 'GNOME Podcasts', 'Kasts', 'gPodder', 'Music Assistant'])(
    'has one line with the settings of %s',
    (client) => {
      const [line, ...others] =
        welcomeText(welcome).match(new RegExp(`^  ${client} .*$`, 'gm')) ?? [];
      expect(line).toContain(welcome.baseUrl);
      expect(line).toMatch(/app password|allow it in the browser/);
      expect(others).toEqual([]);
    },
  );

  it('names the address of sign-in if there is an account', () => {
    const text = welcomeText({ ...welcome, firstLink: undefined });
    expect(text).toContain('People sign in at http://127.0.0.1:3000');
    expect(text).not.toContain('/links/');
  });
});
