import { JsonText } from '#contracts';
import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { sentBatch } from './wire.schemas.js';

describe('the body of a batch', () => {
  const request = { sentJson: JsonText.from<never>('{"episodes":[0,0]}') } as FastifyRequest;

  it('is passed on as it was sent', () => expect(sentBatch(request, [0, 0], 2)).toBe(request.sentJson));

  it('of too many entries is refused', () => {
    expect(() => sentBatch(request, [0, 0, 0], 2)).toThrowError('invalid');
  });
});
