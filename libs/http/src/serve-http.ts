import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { FastifyAdapter, NestFastifyApplication } from '@nestjs/platform-fastify';
import { type Log, nestLogger, type RunningProcess, stopLimitMs } from '#runtime';
import type { Connections } from './connections.js';
import { answerBrokenHttp, answerExpectAndConnect } from './errors.js';
import type { HttpConfig } from './http.config.js';
import { normalizeTarget } from './app-paths.js';

/** An HTTP app before its Nest application is created. */
export interface HttpApp {
  readonly module: DynamicModule;
  readonly adapter: FastifyAdapter;
  /** Configures the created Nest application, before its first request. */
  configure(app: NestFastifyApplication): Promise<RunningApp>;
}

/** An HTTP app that is configured and serves requests. */
export interface RunningApp {
  /** Returns why the app is not ready, as texts for the operator; an empty list if it is ready. */
  missing?(): readonly string[];
  /** Ends open streams within `overMs` milliseconds; the app still serves other requests. */
  drain?(overMs: number): void;
  /** Closes the app's own resources, after its last answer. */
  close(): Promise<void>;
}

/** Times in ms within which a client must send a request. */
export interface HttpTimeouts {
  /** Time to send the head of a request. */
  readonly headMs: number;
  /** Time to send a whole request. */
  readonly requestMs: number;
}

/**
 * Default timeouts. A head is a few packets, which can be sent again within ten seconds. A body of
 * 2 MiB takes a minute at 0.3 Mbit/s. Slower clients are gone or hold connections open on purpose
 * (slowloris).
 */
export const defaultTimeouts: HttpTimeouts = { headMs: 10_000, requestMs: 60_000 };

/**
 * Maximum time in ms that the start waits for the connections to Redis. Then the app runs, and is
 * not ready until it has connected.
 */
const openLimitMs = 2_000;

/** Maximum number of parsed headers; further ones are ignored. Real clients send fewer than 25. */
const maxHeaders = 100;

/**
 * Maximum connections that the kernel queues. With the 511 of Node, a burst of a thousand
 * connections would delay other clients by a TCP retransmission timeout of one second.
 */
const backlog = 4_096;

/** Time in ms that a stop reserves to close apps and connections after the last answer. */
const closeReserveMs = 5_000;

/** Options of an HTTP server. */
export interface ServeOptions {
  readonly config: Pick<
    HttpConfig,
    'HOST' | 'PORT' | 'MAX_CONNECTIONS' | 'MAX_HEADER_BYTES' | 'DRAIN_SECONDS'
  >;
  readonly log: Log;
  /** Connections that the apps share. The start waits at most 2 s until they are open. */
  readonly connections: Pick<Connections, 'opened' | 'close'>;
  /** Maximum long-lived connections, in addition to `MAX_CONNECTIONS`. Default 0. */
  readonly maxStreams?: number;
  /** Timeouts of clients; only tests override them. */
  readonly timeouts?: HttpTimeouts;
  /**
   * Maximum time in ms that a stop waits for started answers. Default: {@link stopLimitMs} less the
   * times to drain and to close. Only tests override it.
   */
  readonly answersMs?: number | undefined;
  /** Creates the Nest application of an app; only tests override it. */
  readonly create?: (app: HttpApp) => Promise<NestFastifyApplication>;
}

/** Serves an HTTP app on its own port. */
export function serveHttp(app: HttpApp, options: ServeOptions): Promise<RunningProcess> {
  return serveApps([app], () => app, options);
}

/** Serves HTTP apps on one port. @param appOf returns the app that answers a request. */
export async function serveApps(
  apps: readonly HttpApp[],
  appOf: (path: string, request: IncomingMessage) => HttpApp,
  options: ServeOptions,
): Promise<RunningProcess> {
  const { config, log, connections } = options;
  const { create = ({ module, adapter }) => createApp(module, adapter, log) } = options;
  const runningApps = new Map<HttpApp, RunningApp>();
  const nestApps: NestFastifyApplication[] = [];
  for (const app of apps) {
    const nestApp = await create(app);
    nestApps.push(nestApp);
    runningApps.set(app, await app.configure(nestApp));
    await nestApp.init();
    await nestApp.getHttpAdapter().getInstance().ready();
  }
  const listeners = new Map(apps.map((app) => [app, app.adapter.getInstance().routing]));
  const server = openServer(options, (request, response) => {
    request.url = normalizeTarget(request.url ?? '/');
    listeners.get(appOf(request.url.split('?', 1)[0] as string, request))?.(request, response);
  });
  server.listen({ port: config.PORT, host: config.HOST, backlog });
  await once(server, 'listening');
  const runningList = [...runningApps.values()];
  await Promise.race([connections.opened, delay(openLimitMs, undefined, { ref: false })]);
  return {
    facts: { port: (server.address() as AddressInfo).port },
    missing: async () => runningList.flatMap((app) => app.missing?.() ?? []),
    stop: async () => {
      // Serves although not ready, because load balancers send requests until their next readiness
      // check.
      const drainMs = config.DRAIN_SECONDS * 1_000;
      for (const app of runningList) app.drain?.(drainMs);
      await delay(drainMs);
      for (const app of runningList) app.drain?.(0);
      await closeServer(server, options.answersMs ?? stopLimitMs - drainMs - closeReserveMs);
      await Promise.all(nestApps.map((nestApp) => nestApp.close()));
      await Promise.all(runningList.map((app) => app.close()));
      await connections.close();
    },
  };
}

function createApp(
  module: DynamicModule,
  adapter: FastifyAdapter,
  log: Log,
): Promise<NestFastifyApplication> {
  return NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: nestLogger(log),
    bodyParser: false,
  });
}

/** Connections of each server, with their answers that have not ended. */
const connectionsByServer = new WeakMap<Server, Map<Socket, Set<ServerResponse>>>();

function openServer(
  { config, maxStreams = 0, timeouts: { headMs, requestMs } = defaultTimeouts }: ServeOptions,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): Server {
  const responsesBySocket = new Map<Socket, Set<ServerResponse>>();
  const server = createServer(
    {
      // Node must not reject a request without a Host, because the app answers with its own error.
      requireHostHeader: false,
      maxHeaderSize: config.MAX_HEADER_BYTES,
      headersTimeout: headMs,
      requestTimeout: requestMs,
      keepAliveTimeout: 72_000,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      const openResponses = responsesBySocket.get(request.socket);
      openResponses?.add(response);
      response.once('close', () => {
        openResponses?.delete(response);
        // While stopping, closes the connection after its last answer, even if keep-alive was sent.
        if (!server.listening && openResponses?.size === 0) request.socket.destroySoon();
      });
      if (!server.listening) response.setHeader('connection', 'close');
      listener(request, response);
    },
  );
  connectionsByServer.set(server, responsesBySocket);
  server.on('connection', (socket) => {
    responsesBySocket.set(socket, new Set());
    socket.once('close', () => responsesBySocket.delete(socket));
  });
  // Closes connections that are idle for longer than any request or answer takes.
  server.timeout = requestMs + 30_000;
  server.maxConnections = config.MAX_CONNECTIONS + maxStreams;
  server.maxHeadersCount = maxHeaders;
  server.on('clientError', answerBrokenHttp);
  answerExpectAndConnect(server);
  return server;
}

/**
 * Stops listening, and resolves when all started answers have been sent and their connections are
 * closed. After `limitMs` it closes the connections of clients that do not read.
 */
async function closeServer(server: Server, limitMs: number): Promise<void> {
  const closed = once(server, 'close');
  // Calls `close` of the TCP server, as that of the HTTP server cuts off answers to slow clients.
  NetServer.prototype.close.call(server);
  for (const [socket, openResponses] of connectionsByServer.get(server) ?? []) {
    if (openResponses.size === 0) socket.destroy();
    for (const response of openResponses)
      if (!response.headersSent) response.setHeader('connection', 'close');
  }
  const closeTimer = setTimeout(() => server.closeAllConnections(), limitMs);
  await closed;
  clearTimeout(closeTimer);
}
