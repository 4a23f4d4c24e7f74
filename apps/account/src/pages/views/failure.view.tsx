import type { LimitedAction } from '../../people/refusal.js';
import type { Page, Visit } from '../document.js';
import { LinkButton } from './controls.js';

/** HTTP statuses by kind of failure. */
export const failureStatus = {
  badRequest: 400,
  crossSite: 403,
  forbidden: 403,
  signedOut: 403,
  erased: 403,
  notFound: 404,
  methodNotAllowed: 405,
  tooLarge: 413,
  tooMany: 429,
  internal: 500,
  busy: 503,
  unavailable: 503,
} as const;

/** Kind of failure that a page explains. */
export type FailureKind = keyof typeof failureStatus;

/** Optional details of a failure page. */
export interface FailureDetails {
  /** Dependency that is unavailable, if it is known. */
  unavailable?: 'database' | undefined;
  retryAfterSeconds?: number | undefined;
  /** Action that reached its rate limit. If set, the page explains the action, not the kind. */
  limitedAction?: LimitedAction | undefined;
  correlationId?: string | undefined;
  /** Host or private scheme of the app's redirect URI. */
  app?: string | undefined;
  /** Error text of the protocol, for developers of apps. */
  detail?: string | undefined;
}

/** Returns the page that explains a failure and what to do. */
export function failurePage(
  { texts: { failure } }: Visit,
  kind: FailureKind,
  details: FailureDetails = {},
): Page {
  const [title, explanation] = failure[kind];
  const lead = [
    details.limitedAction ? failure.limited[details.limitedAction] : explanation,
    details.app !== undefined && failure.app(details.app),
    details.unavailable && failure.part(failure[details.unavailable]),
    details.retryAfterSeconds !== undefined && failure.retry(details.retryAfterSeconds),
  ];
  const body = (
    <>
      {details.detail !== undefined && (
        <p class="quiet small">
          <code>{details.detail}</code>
        </p>
      )}
      {details.correlationId !== undefined && (
        <p class="quiet small">
          {failure.request} <code>{details.correlationId}</code>
        </p>
      )}
      {(kind !== 'tooMany' || details.limitedAction) && (
        <p>
          <a class="button plain" href="/account">
            {failure.home}
          </a>
        </p>
      )}
    </>
  );
  return { title, lead, status: failureStatus[kind], body };
}

/**
 * Returns the page that redirects to another site or an app, because browsers block such a redirect
 * as the response to a form (`form-action`; CSP 3, 6.4.1).
 *
 * @param where host that the page names; default: a text for an app.
 */
export function forwardPage({ texts: { forward } }: Visit, to: string, where = forward.app): Page {
  const body = <LinkButton href={to}>{forward.link}</LinkButton>;
  return { title: forward.title, lead: forward.text(where), forwardTo: to, body };
}
