import type { RequestListener } from 'node:http';
import { type HttpOptions, HeldBytes, httpAnswers, RateLimits, send } from '#http';
import { networkOf } from '#identity';
import type { Log } from '#runtime';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { consoleHeaders } from '../console/console.files.js';
import { answerFailure, sendFailure, failureOf } from '../pages/failure.filter.js';
import type { AccountConfig } from '../account.config.js';

/** On every answer: nothing but our own stylesheet and images, forms that go nowhere else, no frames, no caching. */
const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  // Nothing to other sites. To pages of this one it may be told where a form was: without it browsers send `Origin: null`,
  // and where there is no TLS, that alone says that a form is ours.
  'referrer-policy': 'same-origin',
};

/** Requests that one network may hold bytes for at the same time. */
const requestsPerNetwork = 100;

/** The HTTP server of the account app: bounds for strangers, the issuer's own routes, and forms for the pages. */
export function serverOptions(
  config: AccountConfig,
  log: Log,
  limits: RateLimits,
  issuer: (request: FastifyRequest) => RequestListener | undefined,
): HttpOptions {
  const held = new HeldBytes(config.MAX_HELD_BYTES, requestsPerNetwork);
  const admit = async (request: FastifyRequest, reply: FastifyReply) => {
    // RFC 9112, 3.2: HTTP/1.1 requires a Host.
    if (request.headers.host === undefined && request.raw.httpVersionMinor > 0)
      return send(reply.header('connection', 'close'), httpAnswers[400]);
    try {
      await limits.ofAddress(request.ip, reply);
    } catch (error) {
      return sendFailure(reply, failureOf(error));
    }
    // Fastify runs no hook for a path that can't be decoded; such a request holds nothing.
    if (request.end) request.hold = held.forRequest(networkOf(request.ip), request.end);
    return undefined;
  };
  return {
    config,
    log,
    admit,
    refuse: (_request, reply) => sendFailure(reply, { kind: 'notFound' }),
    answer: answerFailure,
    headers: (request) => ({ ...headers, ...consoleHeaders(request, config.API_URLS?.[0]) }),
    // JSON for the poll of a login flow alone.
    bodies: ['form', 'json'],
    cookies: true,
    handOver: issuer,
  };
}
