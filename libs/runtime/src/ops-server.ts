import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { register } from 'prom-client';
import { z } from 'zod';
import { integer } from './config.js';
import { withTimeLimit } from './time-limit.js';

/** Configuration of the ops port, part of every app's configuration. */
export const opsConfig = z.object({
  OPS_HOST: z.string().default('127.0.0.1').describe('Address that `OPS_PORT` is opened on.'),
  OPS_PORT: integer(0, 65_535)
    .optional()
    .describe('Port for `/livez`, `/readyz` and `/metrics`; 0 for any free port. Not set: none.'),
  VERSION: z.string().default('development').describe('Name of the build, for the metrics.'),
});
export type OpsConfig = z.output<typeof opsConfig>;

/** Answers a request for a path of the app; returns false for an unknown path. */
export type OpsRoutes = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Time limit of an app's readiness check, in milliseconds. A slower check counts as failed. */
const checkLimitMs = 2_000;

/**
 * The ops port for operators. Its paths are the same for every app:
 * - `GET /livez`: 200 as long as the event loop runs, even if a dependency is unavailable;
 * - `GET /readyz`: 200 if requests should be sent here, else 503 with a line per missing
 *   dependency;
 * - `GET /metrics`: metrics of the process in the text format of Prometheus.
 */
export class OpsServer {
  /** The app's own routes, e.g. the queue's dashboard. Set when the app has started. */
  routes: OpsRoutes = () => false;

  private readonly server = createServer((request, response) => {
    this.answerRequest(request, response).catch((error: unknown) =>
      sendReply(response, 500, String(error)),
    );
  });

  /** @param missing returns the reasons why the app cannot serve; an empty list if it is ready. */
  constructor(private readonly missing: () => Promise<readonly string[]>) {}

  /** Listens. @returns the port. @throws Error if the port is unavailable. */
  async open(config: OpsConfig): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject).listen(config.OPS_PORT, config.OPS_HOST, resolve);
    });
    // The ops port must not keep the process alive after its app has ended.
    this.server.unref();
    return (this.server.address() as AddressInfo).port;
  }

  private async answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = (request.url ?? '').split('?', 1);
    if (request.method !== 'GET' || !['/livez', '/readyz', '/metrics'].includes(path ?? '')) {
      if (!this.routes(request, response)) sendReply(response, 404, 'not found');
      return;
    }
    if (path === '/livez') return sendReply(response, 200, 'ok');
    if (path === '/metrics')
      return sendReply(response, 200, await register.metrics(), register.contentType);
    // A check that fails or times out counts as a missing dependency.
    const createTimeoutError = () =>
      new Error(`the readiness check took longer than ${checkLimitMs} ms`);
    const missing = await withTimeLimit(this.missing(), checkLimitMs, createTimeoutError).catch(
      (error: Error) => [error.message],
    );
    sendReply(
      response,
      missing.length === 0 ? 200 : 503,
      missing.length === 0 ? 'ok' : missing.join('\n'),
    );
  }
}

function sendReply(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  response
    .writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
    .end(`${body}\n`);
}
