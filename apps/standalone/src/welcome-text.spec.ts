import { describe, expect, it } from 'vitest';
import { welcomeText } from './welcome-text.js';

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

  it('leads to the steps of each podcast app', () => {
    expect(welcomeText(welcome)).toContain('http://127.0.0.1:3000/connect');
  });

  it('says how to start for a phone, if it cannot reach the address', () => {
    const command = 'npm start -- --host 0.0.0.0';
    expect(welcomeText(welcome)).toContain(command);
    expect(welcomeText({ ...welcome, baseUrl: 'http://192.168.1.5:3000' })).not.toContain(command);
  });

  it('has a QR code in a terminal, if a phone can reach the address', () => {
    const lan = { ...welcome, baseUrl: 'http://192.168.1.5:3000' };
    expect(welcomeText(lan, true)).toContain('█');
    expect(welcomeText(lan)).not.toContain('█');
    expect(welcomeText(welcome, true)).not.toContain('█');
  });

  it('asks to sign in if there is an account', () => {
    const text = welcomeText({ ...welcome, firstLink: undefined });
    expect(text).toContain('Sign in and connect a podcast app:\n\n  http://127.0.0.1:3000/connect');
    expect(text).not.toContain('/links/');
  });
});
