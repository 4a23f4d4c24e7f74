import { labelOf } from '../../people/label.rule.js';
import { html, type Html } from '../html.js';
import type { Page, Visit } from '../page.js';
import { card, facts, field, head, hidden, when } from './parts.js';
import { messagePage } from './registration.view.js';

/** What an app calls itself, as pages show it. */
export const appName = (claimed: string | undefined) => labelOf(claimed ?? '') || '?';

/** What somebody is asked to allow. */
export interface Approval {
  /** Where the form goes. */
  action: string;
  /** What the app calls itself. */
  app: string;
  scopes: readonly string[];
  /** Who is asked. */
  name: string;
  /** When and from which address the app asked. */
  startedAt: Date;
  address: string;
  /** Of who looks at the page. */
  ownAddress: string;
  /** Where the browser goes then: a host, or nothing for an app on this device or one that waits elsewhere. */
  goesTo?: { host: string } | 'device' | undefined;
  /** The code that the device shows: whoever sent a link with a code in it has none to compare (RFC 8628, 5.4). */
  userCode?: string | undefined;
}

const rights = (visit: Visit, scopes: readonly string[]): Html[] =>
  scopes.map((scope) => {
    const { scopes: known, otherScope } = visit.texts.approve;
    return html`<li>${Object.hasOwn(known, scope) ? known[scope]! : otherScope(appName(scope))}</li>`;
  });

/** Asks whether an app may come in: who it says it is, what it could do, and where the request comes from. Deny is first. */
export function approvalPage(visit: Visit, of: Approval): Page {
  const { approve, device } = visit.texts;
  const app = appName(of.app);
  const body = card(
    head(approve.title(app), approve.lead(app)),
    of.userCode !== undefined &&
      html`<section class="stack">
        <h2>${device.compare}</h2>
        <p class="shown">${of.userCode}</p>
      </section>`,
    html`<section class="stack">
      <h2>${approve.wants}</h2>
      <ul class="rights">
        ${rights(visit, of.scopes)}
      </ul>
      <p class="quiet small">${approve.until}</p>
    </section>`,
    html`<section class="stack">
      <h2>${approve.details}</h2>
      ${facts(
        [approve.signedInAs, of.name],
        of.goesTo !== undefined && [approve.goesTo, of.goesTo === 'device' ? approve.thisDevice : of.goesTo.host],
        [approve.from, of.address === of.ownAddress ? approve.fromHere(of.address) : of.address],
        [approve.asked, when(visit, of.startedAt)],
      )}
    </section>`,
    html`<p class="notice">${approve.onlyIf}</p>
      <form method="post" action="${of.action}">
        ${hidden({ user_code: of.userCode })}
        <div class="actions">
          <button class="plain" name="decision" value="deny">${approve.deny}</button>
          <button name="decision" value="allow">${approve.allow}</button>
        </div>
      </form>`,
  );
  return { title: approve.title(app), body };
}

export function allowedPage({ texts }: Visit, of: { app: string }): Page {
  return messagePage(texts.approve.allowedTitle, texts.approve.allowedText(appName(of.app)));
}

export function deniedPage({ texts }: Visit): Page {
  return messagePage(texts.approve.deniedTitle, texts.approve.deniedText);
}

/** Takes the code that a device shows (RFC 8628, 3.3). */
export function deviceCodePage(
  { texts }: Visit,
  of: { code?: string | undefined; problem?: 'missing' | 'unknown' },
): Page {
  const { device } = texts;
  const refused = of.problem !== undefined;
  const form = html`<form method="post" action="/device">
    ${field({
      name: 'user_code',
      label: device.code,
      value: (of.code ?? '').slice(0, 32),
      error: of.problem && device[of.problem],
      autocomplete: 'off',
      className: 'user-code',
      maxLength: 32,
      focus: true,
    })}
    <button>${texts.continue}</button>
  </form>`;
  return {
    title: device.title,
    refused,
    status: refused ? 400 : 200,
    body: card(head(device.title, device.lead), form),
  };
}
