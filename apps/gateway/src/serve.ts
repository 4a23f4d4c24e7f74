import { setTimeout } from 'node:timers/promises';
import { VERSION_NEUTRAL, VersioningType } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import { services } from '#contracts';
import {
  createEdge,
  type EdgeParts,
  HeldBytes,
  listen,
  type Patience,
  RateLimits,
  serveEdge,
  waitingPerUser,
  watchHeldBytes,
} from '#http';
import { AppPasswords, Revocations } from '#identity';
import { ClockListener, connectRedis } from '#redis';
import type { Log, Running } from '#runtime';
import { StreamClient, traceCalls, watchClient } from '#transport';
import { watchStreams } from './gateway.metrics.js';
import { Authenticator } from './auth/authenticator.js';
import { ChangeStreams, type StreamBounds } from './changes/change.streams.js';
import type { GatewayConfig } from './gateway.config.js';
import { GatewayModule } from './gateway.module.js';
import { Admission } from './http/admission.js';
import { resourceMetadata, resourceMetadataPath } from './http/challenge.js';
import { serverOptions } from './http/server.options.js';
import { createOpenApi } from './openapi.js';

/** How long a start waits for Redis before it reports that it serves, in milliseconds. */
const redisLimitMs = 2_000;

/** How many requests of one user may run and wait, reads and writes together. */
function requestsPerUser(config: GatewayConfig): number {
  return config.MAX_READS_PER_USER + config.MAX_WRITES_PER_USER + 2 * waitingPerUser;
}

/**
 * Starts the gateway. It serves until it is stopped; without Redis it answers 503 to everybody. It is unready until it
 * has reached Redis once, and ready from then on: whatever is away, no other gateway could do better than answer 503.
 */
export async function serve(config: GatewayConfig, log: Log): Promise<Running> {
  return serveEdge(await compose(config, log), log);
}

/**
 * Makes the parts of a gateway.
 *
 * @param pace how long clients may take, and how streams go; other than the usual in tests alone.
 */
export async function compose(
  config: GatewayConfig,
  log: Log,
  pace: { patience?: Patience; streams?: StreamBounds } = {},
): Promise<EdgeParts> {
  const connect = () => connectRedis(config);
  const hasAccounts = config.AUTH_APP_PASSWORDS === 'on';
  // A bare API has no account service.
  const watched = services.filter((service) => hasAccounts || service !== 'account');
  const client = new StreamClient({ connect, log, services: watched, maxInFlight: config.MAX_CALLS });
  traceCalls(client);
  const revocations = new Revocations(config, log);
  const appPasswords = hasAccounts ? new AppPasswords(client, revocations) : undefined;
  const authenticator = new Authenticator(config, log, { revocations, appPasswords });
  let hasConnected = false;
  // Rejects only when the client is closed first.
  const connected = client.connect().then(
    () => void (hasConnected = true),
    () => {},
  );
  const limits = new RateLimits(config, log);
  const held = new HeldBytes(config.MAX_HELD_BYTES, requestsPerUser(config));
  const admission = new Admission(config, authenticator, limits, held, log);
  const adapter = await createEdge(serverOptions(config, admission, log, pace.patience));
  const { server } = adapter.getInstance();
  const ear = new ClockListener(
    connect(),
    connect(),
    { onHint: (userId, stamp) => streams.hint(userId, stamp), onLost: () => streams.lose() },
    log,
  );
  const onCount = (open: number) => void (server.maxConnections = config.MAX_CONNECTIONS + open);
  const streams = new ChangeStreams(config.MAX_STREAMS, authenticator, ear, onCount, pace.streams);
  const module = GatewayModule.forRoot(config, client, streams, log);
  const run = async (app: NestFastifyApplication): Promise<Running> => {
    app.enableVersioning({ type: VersioningType.URI, defaultVersion: [VERSION_NEUTRAL, '1'] });
    serveOpenPaths(app, authenticator, config);
    watchClient(() => client.counters);
    watchHeldBytes(() => held.held);
    watchStreams(() => streams);
    const port = await listen(app, config);
    const redis = Promise.all([connected, limits.opened(), revocations.opened()]);
    await Promise.race([redis, setTimeout(redisLimitMs, undefined, { ref: false })]);
    return {
      facts: { port },
      missing: async () => (hasConnected ? [] : ['Redis: not reached yet']),
      stop: async () => {
        // Unready by now, but still serving: load balancers send requests here until they poll readiness again.
        streams.drain(config.DRAIN_SECONDS * 1_000);
        await setTimeout(config.DRAIN_SECONDS * 1_000);
        streams.close();
        await app.close();
        ear.close();
        await Promise.all([client.close(), revocations.close()]);
        limits.close();
      },
    };
  };
  return { module, adapter, run };
}

/** Serves what needs no credential: the API description, its reference page, who issues tokens, and keys kept in files. */
function serveOpenPaths(app: NestFastifyApplication, authenticator: Authenticator, config: GatewayConfig): void {
  const document = createOpenApi(app);
  SwaggerModule.setup('docs', app, document, { raw: false });
  const fastify = app.getHttpAdapter().getInstance();
  fastify.get('/openapi.json', () => document);
  fastify.get(resourceMetadataPath, (request, reply) => {
    // For web apps of anywhere: it tells what every 401 tells.
    void reply.header('access-control-allow-origin', '*');
    return resourceMetadata(request, config);
  });
  if (authenticator.keySet()) fastify.get('/.well-known/jwks.json', () => authenticator.keySet());
}
