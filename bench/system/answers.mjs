import { deepEqual } from 'node:assert/strict';
import { cases, withoutBaseline } from './cases.mjs';

/**
 * Checks that the baseline and the system give equal responses, as a baseline that does less would
 * distort the ratios. Values in responses to writes are ignored.
 *
 * @throws AssertionError with the difference.
 */
export async function compareAnswers(baseline, system, user) {
  for (const [name, request] of Object.entries(cases)) {
    if (withoutBaseline.has(name)) continue;
    const answers = [];
    for (const { baseUrl } of [baseline, system]) {
      const { method, path, body } = request(user);
      const headers = { authorization: `Bearer ${user.token}`, 'content-type': 'application/json' };
      const response = await fetch(baseUrl + path, { method, headers, body });
      const answer = JSON.parse((await response.text()).replaceAll(baseUrl, ''));
      answers.push([response.status, method === 'GET' ? withoutOrder(answer) : shape(answer)]);
    }
    deepEqual(answers[0], answers[1], `"${name}" is answered differently`);
  }
}

function withoutOrder({ next, ...page }) {
  const link = next && new URL(next, 'http://any');
  return {
    ...page,
    ...(link && { next: [link.pathname, ...[...link.searchParams].map(String).sort()] }),
  };
}

function shape(value) {
  if (Array.isArray(value)) return value.map(shape);
  if (value === null || typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]));
}
