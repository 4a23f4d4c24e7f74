import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Log, nestLogger, type Running } from '#runtime';
import type { Connections } from './connections.js';
import { answerBrokenHttp, answerExpectAndConnect } from './errors.js';
import type { HttpConfig } from './http.config.js';
import { singleSlashes } from './app.paths.js';

/** An HTTP app whose Nest application was not created yet. */
export interface HttpApp {
  readonly module: DynamicModule;
  readonly adapter: FastifyAdapter;
  /** Completes the created application, before it gets its first request. */
  begin(app: NestFastifyApplication): Promise<BegunApp>;
}

/** An HTTP app that answers requests. */
export interface BegunApp {
  /** What it needs and does not have at the moment, as texts for an operator. */
  missing?(): readonly string[];
  /** Ends answers that would go on, spread over the time in which it still serves. */
  drain?(overMs: number): void;
  /** Closes what is its own, after its last answer. */
  close(): Promise<void>;
}

/** How long clients may take, in milliseconds. */
export interface Patience {
  /** To send the head of a request. */
  readonly headMs: number;
  /** To send a whole request. */
  readonly requestMs: number;
}

/**
 * A head is a few packets, and ten seconds are time to send each of them again; in a minute a body of 2 MiB arrives at
 * 0.3 Mbit/s. Who needs longer mostly is not there any more, or only wants to hold a connection.
 */
export const patience: Patience = { headMs: 10_000, requestMs: 60_000 };

/** How long a start waits for the connections, in milliseconds. */
const openLimitMs = 2_000;

/** Headers of one request that are parsed; real clients send less than a quarter of that. */
const maxHeaders = 100;

/**
 * Connections that the kernel keeps until they are accepted. With Node's 511, somebody who opens a thousand at once
 * makes others wait the second after which TCP tries again.
 */
const backlog = 4_096;

/** How to serve HTTP. */
export interface ServeOptions {
  readonly config: Pick<HttpConfig, 'HOST' | 'PORT' | 'MAX_CONNECTIONS' | 'MAX_HEADER_BYTES' | 'DRAIN_SECONDS'>;
  readonly log: Log;
  /** What the apps share. A start waits for it, but not for long: the apps also serve without. */
  readonly connections: Pick<Connections, 'opened' | 'close'>;
  /** Connections that stay open for long, beside `MAX_CONNECTIONS`. */
  readonly maxStreams?: number;
  /** How long clients may take; other than the usual in tests alone. */
  readonly patience?: Patience;
  /** Creates the Nest application of an app. Left out: as in production. */
  readonly create?: (app: HttpApp) => Promise<NestFastifyApplication>;
}

/** Serves an HTTP app on a port of its own. */
export function serveHttp(app: HttpApp, options: ServeOptions): Promise<Running> {
  return serveApps([app], () => app, options);
}

/**
 * Serves HTTP apps on one port.
 *
 * @param appOf the app that answers a request, by its path. It is asked before anything but the head is read.
 */
export async function serveApps(
  apps: readonly HttpApp[],
  appOf: (path: string, request: IncomingMessage) => HttpApp,
  options: ServeOptions,
): Promise<Running> {
  const { config, log, connections } = options;
  const { create = ({ module, adapter }) => createApp(module, adapter, log) } = options;
  const begun = new Map<HttpApp, BegunApp>();
  const nests: NestFastifyApplication[] = [];
  for (const app of apps) {
    const nest = await create(app);
    nests.push(nest);
    begun.set(app, await app.begin(nest));
    await nest.init();
    await nest.getHttpAdapter().getInstance().ready();
  }
  const listeners = new Map(apps.map((app) => [app, app.adapter.getInstance().routing]));
  const server = openServer(options, (request, response) => {
    request.url = singleSlashes(request.url ?? '/');
    listeners.get(appOf(request.url.split('?', 1)[0] as string, request))?.(request, response);
  });
  server.listen({ port: config.PORT, host: config.HOST, backlog });
  await once(server, 'listening');
  const running = [...begun.values()];
  await Promise.race([connections.opened, delay(openLimitMs, undefined, { ref: false })]);
  return {
    facts: { port: (server.address() as AddressInfo).port },
    missing: async () => running.flatMap((app) => app.missing?.() ?? []),
    stop: async () => {
      // Unready by now, but still serving: load balancers send requests here until they poll readiness again.
      const drainMs = config.DRAIN_SECONDS * 1_000;
      for (const app of running) app.drain?.(drainMs);
      await delay(drainMs);
      for (const app of running) app.drain?.(0);
      await closeServer(server);
      await Promise.all(nests.map((nest) => nest.close()));
      await Promise.all(running.map((app) => app.close()));
      await connections.close();
    },
  };
}

function createApp(module: DynamicModule, adapter: FastifyAdapter, log: Log): Promise<NestFastifyApplication> {
  return NestFactory.create<NestFastifyApplication>(module, adapter, { logger: nestLogger(log), bodyParser: false });
}

/** Answers that have not ended, by their server. */
const unanswered = new WeakMap<Server, Set<ServerResponse>>();

function openServer(
  { config, maxStreams = 0, patience: { headMs, requestMs } = patience }: ServeOptions,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const open = new Set<ServerResponse>();
  const server = createServer(
    {
      // A request without a Host is answered by the app, with its own error.
      requireHostHeader: false,
      maxHeaderSize: config.MAX_HEADER_BYTES,
      headersTimeout: headMs,
      requestTimeout: requestMs,
      keepAliveTimeout: 72_000,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      open.add(response.once('close', () => open.delete(response)));
      if (!server.listening) response.setHeader('connection', 'close');
      listener(request, response);
    },
  );
  unanswered.set(server, open);
  // For idle connections; longer than any answer takes.
  server.timeout = requestMs + 30_000;
  server.maxConnections = config.MAX_CONNECTIONS + maxStreams;
  server.maxHeadersCount = maxHeaders;
  server.on('clientError', answerBrokenHttp);
  answerExpectAndConnect(server);
  return server;
}

/** Stops listening, and resolves when the answers that have begun are sent. Each of them ends its connection. */
async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  for (const response of unanswered.get(server) ?? [])
    if (!response.headersSent) response.setHeader('connection', 'close');
  server.closeIdleConnections();
  await closed;
}
