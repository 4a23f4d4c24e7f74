import { VERSION_NEUTRAL, VersioningType } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import { services } from '#contracts';
import {
  type BegunApp,
  createHttpAdapter,
  HeldBytes,
  type HttpApp,
  RateLimits,
  serveHttp,
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

/** How many requests of one user may run and wait, reads and writes together. */
function requestsPerUser(config: GatewayConfig): number {
  return config.MAX_READS_PER_USER + config.MAX_WRITES_PER_USER + 2 * waitingPerUser;
}

/**
 * Starts the gateway. It serves until it is stopped; without Redis it answers 503 to everybody. It is unready until it
 * has reached Redis once, and ready from then on: whatever is away, no other gateway could do better than answer 503.
 */
export async function serve(config: GatewayConfig, log: Log): Promise<Running> {
  return serveHttp(await compose(config, log), { config, log, maxStreams: config.MAX_STREAMS });
}

/**
 * Makes the parts of a gateway.
 *
 * @param bounds of streams; other than the usual in tests alone.
 */
export async function compose(config: GatewayConfig, log: Log, bounds?: StreamBounds): Promise<HttpApp> {
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
  const adapter = await createHttpAdapter(serverOptions(config, admission, log));
  const ear = new ClockListener(
    connect(),
    connect(),
    { onHint: (userId, stamp) => streams.hint(userId, stamp), onLost: () => streams.lose() },
    log,
  );
  const streams = new ChangeStreams(config.MAX_STREAMS, authenticator, ear, bounds);
  const module = GatewayModule.forRoot(config, client, streams, log);
  const begin = async (app: NestFastifyApplication): Promise<BegunApp> => {
    app.enableVersioning({ type: VersioningType.URI, defaultVersion: [VERSION_NEUTRAL, '1'] });
    serveOpenPaths(app, authenticator, config);
    watchClient(() => client.counters);
    watchHeldBytes(() => held.held);
    watchStreams(() => streams);
    return {
      opened: Promise.all([connected, limits.opened(), revocations.opened()]),
      missing: () => (hasConnected ? [] : ['Redis: not reached yet']),
      drain: (overMs) => (overMs > 0 ? streams.drain(overMs) : streams.close()),
      close: async () => {
        ear.close();
        await Promise.all([client.close(), revocations.close()]);
        limits.close();
      },
    };
  };
  return { module, adapter, begin };
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
