import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import type { Failure } from '#contracts';
import { eventually, Fixture } from '#testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openCredentials } from '../../../../libs/identity/testing/credential.service.js';
import { GpodderSessions } from './sessions.js';

const fixture = new Fixture();
let { book, client, revocations } = {} as Awaited<ReturnType<typeof openCredentials>>;
let sessions: GpodderSessions;

beforeAll(async () => {
  ({ book, client, revocations } = await openCredentials(fixture));
});
beforeEach(() => {
  sessions = new GpodderSessions(client, revocations);
  book.asked.length = 0;
});
afterAll(() => fixture.close());

/** Returns signed sessions of a new app password. */
function newSessions(count: number) {
  const credentialId = randomUUID();
  book.sessions.set(credentialId, { credentialId, userId: randomUUID(), name: 'ann', scopes: [] });
  return Array.from({ length: count }, () => ({ sessionId: randomUUID(), credentialId }));
}

describe('GpodderSessions', () => {
  it('rejects a fifth concurrent lookup of one app password, and none of others', async () => {
    let answer!: (value?: unknown) => void;
    book.wait = new Promise((resolve) => (answer = resolve));
    const own = newSessions(6);
    const four = own.slice(0, 4).map((session) => sessions.check(session));
    const refused = await Promise.allSettled(
      own.slice(4).map((session) => sessions.check(session)),
    );
    expect(refused.map((one) => one.status === 'rejected' && (one.reason as Failure).code)).toEqual(
      ['unavailable', 'unavailable'],
    );
    const other = newSessions(1).map((session) => sessions.check(session));
    await eventually(() => expect(book.asked).toHaveLength(5));
    answer();
    delete book.wait;
    expect(await Promise.all([...four, ...other])).not.toContain(undefined);
    expect(await sessions.check(own[4]!)).toBeDefined();
  });
});
