import { html } from '../html.js';
import type { Page, Visit } from '../page.js';
import { card, head } from './parts.js';

/** What can be wrong with a request, and the status that says so. */
export const failures = {
  badRequest: 400,
  crossSite: 403,
  forbidden: 403,
  notFound: 404,
  methodNotAllowed: 405,
  tooLarge: 413,
  tooMany: 429,
  internal: 500,
  busy: 503,
  unavailable: 503,
} as const;

export type FailureKind = keyof typeof failures;

export interface Failed {
  /** What is away. */
  away?: readonly ('database' | 'redis')[] | undefined;
  retryAfterSeconds?: number | undefined;
  requestId?: string | undefined;
  /** In the words of a protocol, for whoever made the app. */
  detail?: string | undefined;
}

/** Says what is wrong, and what to do. */
export function failurePage({ texts }: Visit, kind: FailureKind, of: Failed = {}): Page {
  const { failure } = texts;
  const [title, text] = failure[kind];
  const more = [
    ...(of.away ?? []).map((part) => failure.away(failure[part])),
    ...(of.retryAfterSeconds === undefined ? [] : [failure.retry(of.retryAfterSeconds)]),
  ];
  return {
    title,
    status: failures[kind],
    body: card(
      head(title, text, ...more),
      of.detail !== undefined && html`<p class="quiet small"><code>${of.detail}</code></p>`,
      of.requestId !== undefined && html`<p class="quiet small">${failure.request} <code>${of.requestId}</code></p>`,
      html`<p><a class="button plain" href="/">${failure.home}</a></p>`,
    ),
  };
}

/**
 * A page that leads on: browsers hold the policy for forms against every redirect after a form was sent, and refuse those
 * to other sites and to apps (CSP 3, 6.4.1). From here they go by themselves, or by the link.
 */
export function forwardPage({ texts }: Visit, to: string, where?: string): Page {
  const { forward } = texts;
  return {
    title: forward.title,
    forwardTo: to,
    body: card(
      head(forward.title, forward.text(where ?? forward.app)),
      html`<p><a class="button" href="${to}">${forward.link}</a></p>`,
    ),
  };
}
