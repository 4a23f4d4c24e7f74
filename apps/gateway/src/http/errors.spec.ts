import { describe, expect, it } from 'vitest';
import { Failure, type FailureCode, failureCodes } from '#contracts';
import { toErrorAnswer, errorBody, httpAnswers, send } from '#http';
import { RateLimited } from '#identity';
import { createLog } from '#runtime';
import Fastify from 'fastify';
import { failureAnswers } from './errors.js';

describe('failureAnswers', () => {
  it.each([
    ['unauthorized', '401', 'User not authorized'],
    ['not_found', '404', 'Resource not found'],
    ['invalid', '405', 'Input could not be validated'],
    ['gone', '410', 'Subscription has been deleted'],
    ['unavailable', '503', 'Service unavailable'],
    ['internal', '500', 'Internal error'],
  ] as [FailureCode, string, string][])(
    'maps %s to %s with its message, and the code as a string',
    (failure, code, message) => {
      expect(errorBody(failureAnswers[failure])).toEqual({ code, message });
      expect(String(failureAnswers[failure].status)).toBe(code);
    },
  );

  it('has an answer for every failure', () => {
    expect(Object.keys(failureAnswers).sort()).toEqual([...failureCodes].sort());
  });
});

describe('httpAnswers', () => {
  it.each([
    [400, 'Bad request'],
    [404, 'Resource not found'],
    [408, 'Request timed out'],
    [413, 'Request is too large'],
    [414, 'Request URL is too long'],
    [429, 'Too many requests'],
    [431, 'Request header is too large'],
    [503, 'Service unavailable'],
  ])('maps %d to %s', (status, message) =>
    expect(httpAnswers[status]).toMatchObject({ status, message }),
  );
});

/** Returns the answer to a thrown error. */
async function answerTo(error: unknown) {
  const fastify = Fastify();
  fastify.get('/', (_, reply) =>
    send(reply, toErrorAnswer(error, createLog('test', 'silent'), failureAnswers)),
  );
  const { statusCode: status, headers, body } = await fastify.inject('/');
  return { status, headers, body };
}

describe('an error answer', () => {
  it.each([
    ['a bug', new TypeError("can't read 'secret' of undefined")],
    [
      'an error of a library',
      Object.assign(new Error('connect ECONNREFUSED 10.0.0.7'), { code: 'ECONNREFUSED' }),
    ],
    ['a server error of a library', Object.assign(new Error('secret'), { statusCode: 500 })],
    ['a thrown text', 'secret'],
  ])('is 500 for %s, without its text or stack', async (_, error) => {
    const { status, body } = await answerTo(error);
    expect([status, body]).toEqual([500, '{"code":"500","message":"Internal error"}']);
  });

  it.each([400, 406, 415, 422])(
    'is 405 for a client error of a library: %d',
    async (statusCode) => {
      const { status, body } = await answerTo(Object.assign(new Error('secret'), { statusCode }));
      expect([status, body]).toEqual([
        405,
        '{"code":"405","message":"Input could not be validated"}',
      ]);
    },
  );

  it('of 503 has a random Retry-After of 1 to 5 seconds, to spread retries', async () => {
    const waits = new Set<unknown>();
    for (let count = 0; count < 100; count++)
      waits.add((await answerTo(new Failure('unavailable'))).headers['retry-after']);
    expect([...waits].sort()).toEqual(['1', '2', '3', '4', '5']);
  });

  it('of 429 has the time until a request is allowed in Retry-After', async () => {
    const { status, headers } = await answerTo(new RateLimited(42));
    expect([status, headers['retry-after']]).toEqual([429, '42']);
  });

  it.each(failureCodes.filter((code) => code !== 'unavailable'))(
    'of %s has no Retry-After',
    async (code) => {
      expect((await answerTo(new Failure(code))).headers).not.toHaveProperty('retry-after');
    },
  );
});
