import { describe, expect, it } from 'vitest';
import { type FailureCode, failureCodes } from '#contracts';
import { errorBody, failureAnswers, httpAnswers } from './errors.js';

describe('failureAnswers', () => {
  it.each([
    ['unauthorized', '401', 'User not authorized'],
    ['not_found', '404', 'Resource not found'],
    ['invalid', '405', 'Input could not be validated'],
    ['gone', '410', 'Subscription has been deleted'],
    ['unavailable', '503', 'Service unavailable'],
    ['internal', '500', 'Internal error'],
  ] as [FailureCode, string, string][])(
    'answers %s with %s and its message, the code as a string',
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
    [414, 'Request header is too large'],
    [429, 'Too many requests'],
    [431, 'Request header is too large'],
    [503, 'Service unavailable'],
  ])('answers %d with %s', (status, message) => expect(httpAnswers[status]).toMatchObject({ status, message }));
});
