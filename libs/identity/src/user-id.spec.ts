import { describe, expect, it } from 'vitest';
import { issuerAliases, userId } from './user-id.js';

const own = 'urn:podcast-sync:standalone';
const uuid = '3f2504e0-4f89-41d3-9a0c-0305e82c3301';

/** These ids must never change, because they are the keys of stored data. */
describe('userId', () => {
  it.each([
    ['https://id.example.com/', 'ann', 'c055b0ab-4cbb-5f9e-b180-836f0bfea94c'],
    ['https://id.example.com/', 'Ann', '6bb8820d-ed01-5d6b-bb3a-6294a55d6b53'],
    ['https://id.example.com/', 'ännchen 😀', 'f1cb7bc0-3148-5b0b-85cb-f68cb755fe08'],
    ['https://other.example.com', 'ann', '4e36d63d-9ed4-5428-bc42-4d33868293ac'],
    [own, 'ann', 'ae4e20da-d8c7-5ad0-b302-61634d760634'],
  ])('is UUIDv5(UUIDv5(URL namespace, issuer), subject): %s %s', (issuer, subject, id) => {
    expect(userId(issuer, subject, own)).toBe(id);
  });

  it('is the subject in lower case if the issuer is ours and it is a UUID', () => {
    expect(userId(own, uuid.toUpperCase(), own)).toBe(uuid);
  });

  it('is the subject under each of our issuers, so it is the same for all of them', () => {
    const ours = [own, 'https://accounts.example'];
    expect(ours.map((issuer) => userId(issuer, uuid, ours))).toEqual([uuid, uuid]);
    expect(userId('https://accounts.example', 'ann', ours)).toBe(
      userId('https://accounts.example', 'ann', own),
    );
    expect(userId('https://accounts', uuid, ours)).not.toBe(uuid);
  });

  it("never is another issuer's subject itself", () => {
    expect(userId('https://id.example.com/', uuid.toUpperCase(), own)).toBe(
      '9b1c3b07-cf5c-5948-a0fd-f96fac975a04',
    );
  });
});

describe('issuerAliases', () => {
  it('reads renamed issuers, so that a provider can move', () => {
    const aliases = issuerAliases('https://new.example=https://id.example.com/, urn:b = urn:a');
    expect([...aliases]).toEqual([
      ['https://new.example', 'https://id.example.com/'],
      ['urn:b', 'urn:a'],
    ]);
  });

  it('is empty when nothing is set', () => {
    expect(issuerAliases(undefined).size).toBe(0);
  });
});
