import { VERSION_NEUTRAL, VersioningType } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import { type Service, services as allServices } from '#contracts';
import {
  type RunningApp,
  type Connections,
  createHttpAdapter,
  type HttpApp,
  linkBase,
  openConnections,
  serveHttp,
  Services,
} from '#http';
import { ClockSubscriptions, connectRedis } from '#redis';
import type { Log, RunningProcess } from '#runtime';
import { watchStreams } from './gateway.metrics.js';
import { Authenticator } from './auth/authenticator.js';
import { ChangeStreams, type StreamBounds } from './changes/change-streams.js';
import type { GatewayConfig } from './gateway.config.js';
import { GatewayModule } from './gateway.module.js';
import { resourceMetadata, resourceMetadataPath } from './http/challenge.js';
import { serverOptions } from './http/server-options.js';
import { writeIdentity } from './http/write-identity.js';
import { createOpenApi } from './openapi.js';

/**
 * Starts the gateway. It answers 503 while Redis is unavailable. It becomes ready at its first
 * connection to Redis, and stays ready during an outage of Redis, because no other gateway could
 * answer either.
 */
export async function serve(config: GatewayConfig, log: Log): Promise<RunningProcess> {
  // The gateway calls the account service only to check app passwords.
  const calledServices = [...allServices, ...feedServices(config)].filter(
    (service) => acceptsAppPasswords(config) || service !== 'account',
  );
  const connections = openConnections(config, log, calledServices);
  const app = await compose(config, log, connections);
  return serveHttp(app, { config, log, connections, maxStreams: config.MAX_STREAMS });
}

/** Creates the gateway app. @param bounds limits of streams; only tests override them. */
export async function compose(
  config: GatewayConfig,
  log: Log,
  { client, revocations, appPasswords, limits, missingConnections }: Connections,
  bounds?: StreamBounds,
): Promise<HttpApp> {
  const credentials = { revocations, ...(acceptsAppPasswords(config) && { appPasswords }) };
  const authenticator = new Authenticator(config, log, credentials);
  const services = new Services(client, config, {
    readBytes: config.MAX_ANSWER_BYTES,
    writeIdentity,
  });
  const { limiter } = services;
  const adapter = await createHttpAdapter(
    serverOptions(config, { authenticator, limits, limiter }, log),
  );
  const clockSubscriber = new ClockSubscriptions(
    connectRedis(config),
    connectRedis(config),
    {
      onNotification: (userId, stamp) => streams.notify(userId, stamp),
      onReconnected: () => streams.endAfterLoss(),
    },
    log,
  );
  const streams = new ChangeStreams(config.MAX_STREAMS, authenticator, clockSubscriber, bounds);
  const configure = async (app: NestFastifyApplication): Promise<RunningApp> => {
    app.enableVersioning({ type: VersioningType.URI, defaultVersion: [VERSION_NEUTRAL, '1'] });
    serveOpenPaths(app, authenticator, config);
    watchStreams(() => streams);
    return {
      missing: missingConnections,
      drain: (overMs) => (overMs > 0 ? streams.drain(overMs) : streams.close()),
      close: async () => clockSubscriber.close(),
    };
  };
  return { module: GatewayModule.forRoot({ config, services, streams, log }), adapter, configure };
}

/** Returns the feed service in an array; an empty array if `FEEDS` is `off`. */
export function feedServices({ FEEDS }: Pick<GatewayConfig, 'FEEDS'>): Service[] {
  return FEEDS === 'off' ? [] : ['feed'];
}

function acceptsAppPasswords(config: GatewayConfig): boolean {
  return config.AUTH_APP_PASSWORDS === 'on';
}

/** Returns the start page: links to API, description and OAuth server, as JSON. */
function createStartPage(api: string, config: GatewayConfig): Record<string, unknown> {
  const [authorizationServer] = config.AUTH_SERVERS ?? [];
  return {
    name: 'Podcast Sync',
    api,
    api_description: `${api}/openapi.json`,
    documentation: `${api}/docs`,
    ...(authorizationServer !== undefined && { authorization_server: authorizationServer }),
  };
}

/** Serves the start page, the API description, OAuth metadata and keys without a credential. */
function serveOpenPaths(
  app: NestFastifyApplication,
  authenticator: Authenticator,
  config: GatewayConfig,
): void {
  const apiDescription = createOpenApi(app);
  SwaggerModule.setup('docs', app, apiDescription, { raw: false });
  const fastify = app.getHttpAdapter().getInstance();
  fastify.get('/', (request) => createStartPage(linkBase(request, config), config));
  fastify.get('/openapi.json', () => apiDescription);
  fastify.get(resourceMetadataPath, (request, reply) => {
    // Allows web apps of any origin to read the metadata, which contains no secret.
    void reply.header('access-control-allow-origin', '*');
    return resourceMetadata(request, config);
  });
  if (authenticator.keySet()) fastify.get('/.well-known/jwks.json', () => authenticator.keySet());
}
