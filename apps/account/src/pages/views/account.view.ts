import { labelOf } from '../../people/label.rule.js';
import { html, type Html, type Part } from '../html.js';
import type { Page, Visit } from '../page.js';
import { appName } from './approval.view.js';
import { browserOf } from './browser.js';
import { day, when } from './parts.js';

/** Everything the account page shows. */
export interface AccountOverview {
  /** Who comes from a provider may not have chosen one. */
  name: string | null;
  /** Something was changed just now. */
  done?: boolean;
  apps: readonly { id: string; name: string; scopes: readonly string[]; since: Date; lastUsedAt: Date }[];
  appPasswords: readonly {
    id: string;
    label: string;
    scopes: readonly string[];
    createdAt: Date;
    /** A day. */
    lastUsedOn: string | null;
    expiresAt: Date | null;
  }[];
  /** As apps name them that use app passwords. */
  devices: readonly { id: string; caption: string; lastUsedAt: string }[];
  sessions: readonly {
    id: string;
    current: boolean;
    createdAt: Date;
    lastUsedAt: Date;
    address: string;
    userAgent: string;
  }[];
  /** Absent where a provider signs in. */
  password?: { totp: boolean; recoveryCodes: number; email: string | null; mail: boolean };
  provider?: string | undefined;
}

function row(title: Part, texts: readonly Part[], action: Part): Html {
  return html`<li class="row">
    <div>
      <h3>${title}</h3>
      ${texts.map((text) => text !== undefined && text !== false && html`<p>${text}</p>`)}
    </div>
    ${action}
  </li>`;
}

/** A button that ends one thing of a list; those who hear the page are told which. */
function ending(action: string, id: string, label: string, named: string): Html {
  return html`<form method="post" action="${action}">
    <input type="hidden" name="id" value="${id}" />
    <button class="plain slight" aria-label="${named}">${label}</button>
  </form>`;
}

function section(title: string, lead: Part, ...parts: Part[]): Html {
  return html`<section class="card">
    <div class="head">
      <h2>${title}</h2>
      ${lead !== undefined && html`<p class="quiet small">${lead}</p>`}
    </div>
    ${parts}
  </section>`;
}

function rightsOf({ texts }: Visit, scopes: readonly string[]): string | undefined {
  const reads = scopes.includes('read:subscriptions');
  const writes = scopes.includes('write:subscriptions');
  if (writes) return reads ? texts.home.mayWrite : texts.home.mayOnlyWrite;
  return reads ? texts.home.mayRead : undefined;
}

function joined(parts: readonly Part[]): Html {
  const present = parts.filter((part) => part !== undefined && part !== false);
  return html`${present.map((part, at) => html`${at > 0 && ' · '}${part}`)}`;
}

function apps(visit: Visit, of: AccountOverview): Html {
  const { home } = visit.texts;
  const rows = of.apps.map((app) => {
    const name = appName(app.name);
    const text = joined([
      rightsOf(visit, app.scopes),
      html`${home.since} ${when(visit, app.since)}`,
      html`${home.lastUsed} ${when(visit, app.lastUsedAt)}`,
    ]);
    return row(name, [text], ending('/apps/end', app.id, home.remove, home.removeNamed(name)));
  });
  const list =
    rows.length > 0
      ? html`<ul class="rows">
          ${rows}
        </ul>`
      : html`<p class="quiet">${home.noApps}</p>`;
  return section(
    home.apps,
    home.appsLead,
    list,
    html`<p class="small"><a href="/device">${home.connectDevice}</a></p>`,
  );
}

function appPasswords(visit: Visit, of: AccountOverview): Html {
  const { home } = visit.texts;
  const rows = of.appPasswords.map(({ id, label, scopes, createdAt, lastUsedOn, expiresAt }) => {
    const expired = expiresAt !== null && expiresAt <= visit.now;
    const title = html`${label}${expired && html`<span class="tag bad">${home.expired}</span>`}`;
    const life = expiresAt === null ? home.neverExpires : html`${home.expires} ${when(visit, expiresAt)}`;
    const texts = [
      joined([rightsOf(visit, scopes), !expired && life]),
      joined([
        html`${home.created} ${when(visit, createdAt)}`,
        html`${home.lastUsed}: ${lastUsedOn === null ? home.never : day(visit, lastUsedOn)}`,
      ]),
    ];
    return row(title, texts, ending('/app-passwords/revoke', id, home.revoke, home.revokeNamed(label)));
  });
  const list =
    rows.length > 0
      ? html`<ul class="rows">
          ${rows}
        </ul>`
      : html`<p class="quiet">${home.noAppPasswords}</p>`;
  const more = html`<p class="actions start"><a class="button" href="/app-passwords">${home.newAppPassword}</a></p>`;
  return section(home.appPasswords, home.appPasswordsLead, list, more);
}

/** Most people have none: then there is no such section. */
function devices(visit: Visit, of: AccountOverview): Part {
  const { home } = visit.texts;
  const rows = of.devices.map(({ id, caption, lastUsedAt }) => {
    const name = labelOf(caption) || id;
    const text = joined([name !== id && id, html`${home.lastUsed} ${when(visit, new Date(lastUsedAt))}`]);
    return row(name, [text], ending('/devices/forget', id, home.forget, home.forgetNamed(name)));
  });
  if (rows.length === 0) return undefined;
  return section(
    home.devices,
    home.devicesLead,
    html`<ul class="rows">
      ${rows}
    </ul>`,
  );
}

function sessions(visit: Visit, of: AccountOverview): Html {
  const { home } = visit.texts;
  const rows = of.sessions.map(({ id, current, createdAt, lastUsedAt, address, userAgent }) => {
    const { browser, system } = browserOf(userAgent);
    const name =
      browser === undefined ? home.unknownBrowser : system === undefined ? browser : home.browserOn(browser, system);
    const title = html`${name}${current && html`<span class="tag">${home.thisBrowser}</span>`}`;
    const text = joined([
      address,
      html`${home.signedIn} ${when(visit, createdAt)}`,
      html`${home.lastUsed} ${when(visit, lastUsedAt)}`,
    ]);
    return row(title, [text], !current && ending('/sessions/end', id, home.end, home.endNamed(name)));
  });
  const others = html`<form method="post" action="/sessions/end-others">
    <div class="actions start"><button class="plain slight">${home.endOthers}</button></div>
  </form>`;
  return section(
    home.sessions,
    home.sessionsLead,
    html`<ul class="rows">
      ${rows}
    </ul>`,
    rows.length > 1 && others,
  );
}

const way = (to: string, text: string) => html`<a class="button plain slight" href="${to}">${text}</a>`;

function security({ texts }: Visit, of: AccountOverview): Html {
  const { home } = texts;
  if (of.password === undefined) return section(home.security, of.provider && home.provider(of.provider));
  const { totp, recoveryCodes, email, mail } = of.password;
  const emailText = email ?? home.emailNone;
  return section(
    home.security,
    undefined,
    html`<ul class="rows">
      ${row(home.password, [home.passwordText], way('/password', home.changePassword))}
      ${row(
        home.totp,
        [totp ? home.totpOn : home.totpOff],
        totp ? way('/totp/off', home.totpRemove) : way('/totp', home.totpSetUp),
      )}
      ${row(
        home.recovery,
        [recoveryCodes === 0 ? home.recoveryNone : home.recoveryLeft(recoveryCodes)],
        way('/recovery-codes', home.recoveryMake),
      )}
      ${mail && row(home.email, [emailText], way('/email', home.emailChange))}
    </ul>`,
  );
}

function data({ texts }: Visit): Html {
  const { home } = texts;
  const download = html`<form method="post" action="/export">
    <button class="plain slight">${home.exportSubmit}</button>
  </form>`;
  return section(
    home.data,
    undefined,
    html`<ul class="rows">
      ${row(home.export, [home.exportText], download)}
      ${row(home.erase, [home.eraseText], html`<a class="button danger slight" href="/erase">${home.eraseLink}</a>`)}
    </ul>`,
  );
}

/** The account's home: what has access, and how the account is kept safe. */
export function accountPage(visit: Visit, of: AccountOverview): Page {
  const { home } = visit.texts;
  return {
    title: visit.texts.account,
    wide: true,
    body: html`<div class="intro">
        <h1>${of.name === null ? visit.texts.account : home.hello(of.name)}</h1>
        <p class="lead">${home.lead}</p>
        <p class="actions start"><a class="button" href="/console/">${home.console}</a></p>
        ${of.done && html`<p class="notice good" role="status">${home.done}</p>`}
      </div>
      ${apps(visit, of)} ${appPasswords(visit, of)} ${devices(visit, of)} ${sessions(visit, of)} ${security(visit, of)}
      ${data(visit)}`,
  };
}
