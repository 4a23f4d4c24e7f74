import { Field } from '#ui';
import { cleanLabel } from '../../people/label.rules.js';
import type { Page, Visit } from '../document.js';
import { FactList, HiddenFields, renderTime } from './controls.js';

/** Returns the name that an app claims, without invisible characters; `?` without a name. */
export const appName = (sentName: string | undefined) => cleanLabel(sentName ?? '') || '?';

/** Content of the page that asks to allow an app. */
export interface Approval {
  /** Path to which the form is sent. */
  action: string;
  /** Name that the app claims. */
  app: string;
  scopes: readonly string[];
  /** Name of the signed-in account. */
  name: string;
  startedAt: Date;
  /** IP address from which the app sent the request. */
  address: string;
  /** IP address of this browser. */
  ownAddress: string;
  /** Redirect target: a host, or `device` for an app on this device. Absent without a redirect. */
  goesTo?: { host: string } | 'device' | undefined;
  /** Code that the user compares with the device's display (RFC 8628, 5.4). Absent for browsers. */
  userCode?: string | undefined;
}

/** Returns the page that asks to allow an app. The first button denies. */
export function approvalPage(visit: Visit, content: Approval): Page {
  const { approve, device } = visit.texts;
  const body = (
    <>
      <p class="claim">
        <bdi>{appName(content.app)}</bdi>
      </p>
      {content.userCode !== undefined && (
        <section class="stack">
          <h2>{device.compare}</h2>
          <p class="secret large">{content.userCode}</p>
        </section>
      )}
      <section class="stack">
        <h2>{approve.wants}</h2>
        <ul class="rights">
          {content.scopes.map((scope) => (
            <li>{approve.scopes[scope]}</li>
          ))}
        </ul>
        <p class="quiet small">{approve.until}</p>
      </section>
      <section class="stack">
        <h2>{approve.details}</h2>
        <FactList
          facts={[
            [approve.signedInAs, content.name],
            content.goesTo !== undefined && [
              approve.goesTo,
              content.goesTo === 'device' ? approve.thisDevice : content.goesTo.host,
            ],
            [
              approve.from,
              content.address === content.ownAddress
                ? approve.fromHere(content.address)
                : content.address,
            ],
            [approve.asked, renderTime(visit, content.startedAt)],
          ]}
        />
      </section>
      <p class="notice">{approve.onlyIf}</p>
      <form method="post" action={content.action}>
        <HiddenFields values={{ user_code: content.userCode }} />
        <div class="actions">
          <button class="plain" name="decision" value="deny">
            {approve.deny}
          </button>
          <button name="decision" value="allow">
            {approve.allow}
          </button>
        </div>
      </form>
    </>
  );
  return { title: approve.title, lead: approve.lead, body };
}

/** Returns the page that asks for the code of a device (RFC 8628, 3.3). */
export function deviceCodePage(
  { texts }: Visit,
  content: { code?: string | undefined; problem?: 'missing' | 'unknown' },
): Page {
  const { device } = texts;
  const body = (
    <form method="post" action="/device">
      <Field
        id="user_code"
        label={device.code}
        value={content.code?.slice(0, 32)}
        error={content.problem && device[content.problem]}
        autocomplete="off"
        class="code upper"
        maxLength={32}
        required
        autofocus
      />
      <button>{texts.continue}</button>
    </form>
  );
  return { title: device.title, lead: device.lead, isRefused: content.problem !== undefined, body };
}
