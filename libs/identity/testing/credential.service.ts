import { Controller, Inject, type INestMicroservice, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { checkCredential, checkSession, type ReplyOf, type RequestOf } from '#contracts';
import { Revocations } from '../src/revocations.js';
import { connectRedis, redisConfig } from '#redis';
import { createLog } from '#runtime';
import type { Fixture } from '#testing';
import { Handle, StreamClient, StreamServer } from '#transport';
import type { VerifiedCredential } from '../src/app-password-verifier.js';

/** The credentials that the service knows, and the lookups that it received. */
interface CredentialBook {
  readonly credentials: Map<string, VerifiedCredential>;
  /** Credentials of gpodder sessions, by the id of their app password. */
  readonly sessions: Map<string, VerifiedCredential>;
  /** The hashes and session ids that were looked up, in order. */
  readonly asked: string[];
  /** Resolves when lookups can be answered. */
  wait?: Promise<unknown>;
}
const bookToken = Symbol('credentials');

@Controller()
class CredentialController {
  constructor(@Inject(bookToken) private readonly book: CredentialBook) {}

  @Handle(checkCredential)
  async check({
    hash,
  }: RequestOf<typeof checkCredential>): Promise<ReplyOf<typeof checkCredential>> {
    this.book.asked.push(hash);
    const credential = this.book.credentials.get(hash) ?? null;
    await this.book.wait;
    return { credential };
  }

  @Handle(checkSession)
  async checkSession({ sessionId, credentialId }: RequestOf<typeof checkSession>) {
    this.book.asked.push(sessionId);
    await this.book.wait;
    return { credential: this.book.sessions.get(credentialId) ?? null };
  }
}

/** Starts a replica of the service `account` that looks up credentials in the returned book. */
export async function startCredentialService(
  redisUrl: string,
): Promise<{ app: INestMicroservice; book: CredentialBook }> {
  const book: CredentialBook = { credentials: new Map(), sessions: new Map(), asked: [] };
  const strategy = new StreamServer({
    service: 'account',
    connect: () => connectRedis(redisConfig.parse({ REDIS_URL: redisUrl })),
    log: createLog('test', 'silent'),
    maxInFlight: 1_000,
    timings: { drainGraceMs: 0, blockMs: 50, drainMs: 100 },
  });
  @Module({
    controllers: [CredentialController],
    providers: [{ provide: bookToken, useValue: book }],
  })
  class CredentialModule {}
  const app = await NestFactory.createMicroservice(CredentialModule, { strategy, logger: false });
  await app.listen();
  return { app, book };
}

/**
 * Starts a credential service on its own Redis, with a client and a subscriber of revocations. All
 * stop when `fixture` closes.
 */
export async function openCredentials(fixture: Fixture) {
  const server = await fixture.redis();
  const config = redisConfig.parse({ REDIS_URL: server.url });
  const log = createLog('test', 'silent');
  const { app, book } = await startCredentialService(server.url);
  fixture.onClose(() => app.close());
  const client = new StreamClient({
    connect: () => connectRedis(config),
    log,
    services: ['account'],
  });
  const revocations = new Revocations(config, log);
  fixture.onClose(() => Promise.all([client.close(), revocations.close()]));
  await Promise.all([client.connect(), revocations.waitUntilOpen()]);
  return { server, book, client, revocations };
}
