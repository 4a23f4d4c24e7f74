import 'reflect-metadata';
import { randomUUID } from 'node:crypto';
import type { INestMicroservice } from '@nestjs/common';
import { Failure } from '#contracts';
import { Revocations } from '#identity';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import { eventually, startRedisServer, type TestServer } from '#testing';
import { StreamClient } from '#transport';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CredentialBook, startCredentialService } from '../../../../libs/identity/testing/credential.service.js';
import { Sessions } from './sessions.js';

const log = createLog('test', 'silent');
let server: TestServer;
let service: INestMicroservice;
let book: CredentialBook;
let client: StreamClient;
let revocations: Revocations;
let sessions: Sessions;

beforeAll(async () => {
  server = await startRedisServer();
  const config = redisConfig.parse({ REDIS_URL: server.url });
  ({ app: service, book } = await startCredentialService(server.url));
  client = new StreamClient({ connect: () => connectRedis(config), log, services: ['account'] });
  revocations = new Revocations(config, log);
  await Promise.all([client.connect(), revocations.opened()]);
});
beforeEach(() => {
  sessions = new Sessions(client, revocations);
  book.asked.length = 0;
});
afterAll(async () => {
  await Promise.all([client.close(), revocations.close(), service.close()]);
  await server.dispose();
});

/** An app password that the account service knows, and sessions that were signed for it. */
function signed(count: number) {
  const credentialId = randomUUID();
  book.sessions.set(credentialId, { credentialId, userId: randomUUID(), name: 'ann', scopes: [] });
  return Array.from({ length: count }, () => ({ sessionId: randomUUID(), credentialId }));
}

describe('the sessions of one app password', () => {
  it('are asked for four at a time: one more is refused at once, and those of others are not', async () => {
    let answer!: (value?: unknown) => void;
    book.wait = new Promise((resolve) => (answer = resolve));
    const own = signed(6);
    const four = own.slice(0, 4).map((session) => sessions.check(session));
    const refused = await Promise.allSettled(own.slice(4).map((session) => sessions.check(session)));
    expect(refused.map((one) => one.status === 'rejected' && (one.reason as Failure).code)).toEqual([
      'unavailable',
      'unavailable',
    ]);
    const other = signed(1).map((session) => sessions.check(session));
    await eventually(() => expect(book.asked).toHaveLength(5));
    answer();
    delete book.wait;
    expect(await Promise.all([...four, ...other])).not.toContain(undefined);
    expect(await sessions.check(own[4]!)).toBeDefined();
  });
});
