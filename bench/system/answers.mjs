import { deepEqual } from 'node:assert/strict';
import { cases } from './cases.mjs';

/**
 * Checks that the floor and the system answer with the same fields, as a floor that does less would
 * distort the ratios.
 *
 * @param users a user of the floor, and one of the system, with equally many rows.
 * @throws AssertionError with the difference.
 */
export async function compareAnswers(floor, system, users) {
  for (const [name, request] of Object.entries(cases)) {
    const answers = [];
    for (const [n, { baseUrl }] of [floor, system].entries()) {
      const user = users[n];
      const { method, path, body } = request(user);
      const headers = { authorization: `Bearer ${user.token}`, 'content-type': 'application/json' };
      const response = await fetch(baseUrl + path, { method, headers, body });
      answers.push([response.status, shape(await response.json())]);
    }
    deepEqual(answers[0], answers[1], `"${name}" is answered differently`);
  }
}

function shape(value) {
  if (Array.isArray(value)) return value.map(shape);
  if (value === null || typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]));
}
