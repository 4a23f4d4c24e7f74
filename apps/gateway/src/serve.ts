import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { VERSION_NEUTRAL, VersioningType } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import { services } from '#contracts';
import { connectRedis, type Log, nestLogger, type Running, traceCalls, watchClient, watchHeldBytes } from '#runtime';
import { StreamClient } from '#transport';
import { Authenticator } from './auth/authenticator.js';
import type { GatewayConfig } from './gateway.config.js';
import { GatewayModule } from './gateway.module.js';
import { HeldBytes } from './held.bytes.js';
import { Admission } from './http/admission.js';
import { createFastify, type Patience } from './http/fastify.js';
import { RateLimits } from './http/rate.limits.js';
import { createOpenApi } from './openapi.js';
import { waitingPerUser } from './user.limiter.js';

/**
 * Connections that the kernel keeps until they are accepted. With Node's 511, somebody who opens a thousand at once
 * makes others wait the second after which TCP tries again.
 */
const backlog = 4_096;

/** How long a start waits for Redis before it reports that it serves, in milliseconds. */
const redisLimitMs = 2_000;

/** How many requests of one user may run and wait, reads and writes together. */
function requestsPerUser(config: GatewayConfig): number {
  return config.MAX_READS_PER_USER + config.MAX_WRITES_PER_USER + 2 * waitingPerUser;
}

/**
 * Starts the gateway. It serves until it is stopped; without Redis it answers 503 to everybody. It is unready until it
 * has reached Redis once, and ready from then on: whatever is away, no other gateway could do better than answer 503.
 *
 * @param patience with clients; other than the usual one in tests alone.
 */
export async function serve(config: GatewayConfig, log: Log, patience?: Patience): Promise<Running> {
  const authenticator = new Authenticator(config, log);
  const connect = () => connectRedis(config);
  const client = new StreamClient({ connect, log, services, maxInFlight: config.MAX_CALLS });
  traceCalls(client);
  let hasConnected = false;
  // Rejects only when the client is closed first.
  const connected = client.connect().then(
    () => void (hasConnected = true),
    () => {},
  );
  const limits = new RateLimits(config, log);
  const held = new HeldBytes(config.MAX_HELD_BYTES, requestsPerUser(config));
  const adapter = await createFastify(config, new Admission(authenticator, limits, held, log), log, patience);
  const app = await NestFactory.create<NestFastifyApplication>(GatewayModule.forRoot(config, client, log), adapter, {
    logger: nestLogger(log),
    bodyParser: false,
  });
  app.enableVersioning({ type: VersioningType.URI, defaultVersion: [VERSION_NEUTRAL, '1'] });
  serveOpenPaths(app, authenticator);
  watchClient(() => client.counters);
  watchHeldBytes(() => held.held);
  await app.listen({ port: config.PORT, host: config.HOST, backlog });
  const { port } = app.getHttpServer().address() as AddressInfo;
  const redis = Promise.all([connected, limits.opened()]);
  await Promise.race([redis, setTimeout(redisLimitMs, undefined, { ref: false })]);
  return {
    facts: { port },
    missing: async () => (hasConnected ? [] : ['Redis: not reached yet']),
    stop: async () => {
      // Unready by now, but still serving: load balancers send requests here until they poll readiness again.
      await setTimeout(config.DRAIN_SECONDS * 1_000);
      await app.close();
      await client.close();
      limits.close();
    },
  };
}

/** Serves what needs no credential: the API description, its reference page, and the keys that are kept in files. */
function serveOpenPaths(app: NestFastifyApplication, authenticator: Authenticator): void {
  const document = createOpenApi(app);
  SwaggerModule.setup('docs', app, document, { raw: false });
  const fastify = app.getHttpAdapter().getInstance();
  fastify.get('/openapi.json', () => document);
  if (authenticator.keySet()) fastify.get('/.well-known/jwks.json', () => authenticator.keySet());
}
