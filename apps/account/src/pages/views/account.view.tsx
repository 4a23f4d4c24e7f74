import { ActionLink, Card, Row } from '#ui';
import type { AppPassword } from '../../credentials/app-passwords.js';
import type { Device } from '../../gpodder/devices.js';
import type { GrantedApp } from '../../issuer/grants.js';
import type { Account } from '../../people/accounts.js';
import { cleanLabel } from '../../people/label.rules.js';
import type { Notice } from '../../people/notices.js';
import type { Session } from '../../people/sessions.js';
import type { Page, Visit } from '../document.js';
import { SuspendedNotice } from './app-passwords.view.js';
import { appName } from './approval.view.js';
import { browserName } from './browser-name.js';
import { NoticesSection } from './notices.view.js';
import { renderCredentialTimes, EndButton, joinParts, renderTime, RowList } from './controls.js';

/** The account with everything that has access to it: apps, app passwords, devices, sessions. */
export interface AccountOverview {
  readonly account: Account;
  /** Session of this browser. */
  readonly session: Session;
  /** True if a form has just changed the account. The page then confirms the change. */
  readonly done: boolean;
  readonly apps: readonly GrantedApp[];
  /** App passwords of podcast apps and of scripts. */
  readonly appPasswords: readonly AppPassword[];
  /** Number of the account's podcasts; undefined while the service is unavailable. */
  readonly podcasts: number | undefined;
  /** Devices of the gpodder API. */
  readonly devices: readonly Device[];
  readonly sessions: readonly Session[];
  readonly notices: readonly Notice[];
  /** Number of unused recovery codes. */
  readonly recoveryCodes: number;
  /** True if a mail server is configured. */
  readonly hasMail: boolean;
  /** Host of the configured OpenID provider; undefined without one. */
  readonly providerHost: string | undefined;
}

interface SectionProps {
  readonly visit: Visit;
  readonly overview: AccountOverview;
}

function describeRights({ home }: Visit['texts'], scopes: readonly string[]): string | undefined {
  const canRead = scopes.includes('read:subscriptions');
  const canWrite = scopes.includes('write:subscriptions');
  if (canWrite) return canRead ? home.mayWrite : home.mayOnlyWrite;
  return canRead ? home.mayRead : undefined;
}

/** Renders the time of the last sync; for null, a text that there was no sync. */
const renderSyncTime = (visit: Visit, syncedAt: Date | null) =>
  syncedAt
    ? [visit.texts.home.synced, ' ', renderTime(visit, syncedAt)]
    : visit.texts.home.neverSynced;

/** Returns the text for an expired or suspended app password; undefined for a valid one. */
function findProblem({ texts: { home }, now }: Visit, { expiresAt, suspendedAt }: AppPassword) {
  if (expiresAt !== null && expiresAt <= now) return home.expired;
  return suspendedAt === null ? undefined : home.suspended;
}

/** Renders the apps, the most recently synced first. */
function AppsSection({ visit, overview }: SectionProps) {
  const { home, connect } = visit.texts;
  const apps = [
    ...overview.apps.map(({ grantId, client, ...app }) => ({
      ...app,
      id: grantId,
      name: client.name,
      action: '/apps/end',
      problem: undefined,
    })),
    ...overview.appPasswords
      .filter(({ isApp }) => isApp)
      .map((credential) => ({
        ...credential,
        name: credential.label,
        since: credential.createdAt,
        action: '/app-passwords/revoke',
        problem: findProblem(visit, credential),
      })),
  ];
  apps.sort((one, other) => Number(other.lastUsedAt ?? 0) - Number(one.lastUsedAt ?? 0));
  const rows = apps.map(({ id, scopes, since, lastUsedAt, action, problem, ...app }) => {
    const name = appName(app.name);
    const lines = [
      joinParts(renderSyncTime(visit, lastUsedAt)),
      joinParts(describeRights(visit.texts, scopes), [home.since, ' ', renderTime(visit, since)]),
    ];
    return (
      <Row name={name} tag={problem && <span class="tag bad">{problem}</span>} lines={lines}>
        <EndButton action={action} id={id} label={home.removeNamed(name)} text={home.remove} />
      </Row>
    );
  });
  const lead =
    rows.length > 0 && overview.podcasts !== undefined
      ? `${home.podcasts(overview.podcasts)} ${home.appsLead}`
      : home.appsLead;
  return (
    <Card title={home.apps} lead={lead}>
      <RowList rows={rows} none={home.noApps} />
      <ActionLink href="/connect">{connect.title}</ActionLink>
      <p class="small">
        <a href="/device">{home.connectDevice}</a>
      </p>
    </Card>
  );
}

function AppPasswordsSection({ visit, overview }: SectionProps) {
  const { home } = visit.texts;
  const scriptPasswords = overview.appPasswords.filter(({ isApp }) => !isApp);
  const rows = scriptPasswords.map((appPassword) => {
    const { id, label, scopes, expiresAt } = appPassword;
    const problem = findProblem(visit, appPassword);
    const expiryText =
      expiresAt === null ? home.neverExpires : [home.expires, ' ', renderTime(visit, expiresAt)];
    const lines = [
      joinParts(describeRights(visit.texts, scopes), problem !== home.expired && expiryText),
      renderCredentialTimes(visit, appPassword),
    ];
    return (
      <Row name={label} tag={problem && <span class="tag bad">{problem}</span>} lines={lines}>
        <EndButton
          action="/app-passwords/revoke"
          id={id}
          label={home.revokeNamed(label)}
          text={home.revoke}
        />
      </Row>
    );
  });
  return (
    <Card title={home.appPasswords} lead={home.appPasswordsLead}>
      <RowList rows={rows} none={home.noAppPasswords} />
      <ActionLink href="/app-passwords">{home.newAppPassword}</ActionLink>
    </Card>
  );
}

function DevicesSection({ visit, overview }: SectionProps) {
  const { home } = visit.texts;
  if (overview.devices.length === 0) return null;
  const rows = overview.devices.map(({ id, caption, app, lastUsedAt }) => {
    const name = cleanLabel(caption) || id;
    const lines = [
      joinParts(renderSyncTime(visit, new Date(lastUsedAt))),
      joinParts(app !== null && appName(app), name !== id && id),
    ];
    return (
      <Row name={name} lines={lines}>
        <EndButton
          action="/devices/forget"
          id={id}
          label={home.forgetNamed(name)}
          text={home.forget}
        />
      </Row>
    );
  });
  return (
    <Card title={home.devices} lead={home.devicesLead}>
      <RowList rows={rows} />
    </Card>
  );
}

function SessionsSection({ visit, overview }: SectionProps) {
  const { home } = visit.texts;
  const rows = overview.sessions.map(({ id, createdAt, lastUsedAt, address, userAgent }) => {
    const isCurrent = id === overview.session.id;
    const name = browserName(visit, userAgent);
    const line = joinParts(
      address,
      [home.signedIn, ' ', renderTime(visit, createdAt)],
      [home.lastUsed, ' ', renderTime(visit, lastUsedAt)],
    );
    return (
      <Row
        name={name}
        tag={isCurrent && <span class="tag">{home.thisBrowser}</span>}
        lines={[line]}
      >
        {!isCurrent && (
          <EndButton action="/sessions/end" id={id} label={home.endNamed(name)} text={home.end} />
        )}
      </Row>
    );
  });
  return (
    <Card title={home.sessions} lead={home.sessionsLead}>
      <RowList rows={rows} />
      {rows.length > 1 && (
        <form class="actions" method="post" action="/sessions/end-others">
          <button class="plain slight">{home.endOthers}</button>
        </form>
      )}
    </Card>
  );
}

function renderRow(name: string, line: string, href: string, linkText: string, look = 'plain') {
  return (
    <Row name={name} lines={[line]}>
      <a class={`button slight ${look}`} href={href}>
        {linkText}
      </a>
    </Row>
  );
}

function SecuritySection({ visit, overview }: SectionProps) {
  const { home } = visit.texts;
  const { issuer, hasTotp, passkeyCount: passkeys, email } = overview.account;
  if (issuer !== null)
    return <Card title={home.security} lead={home.provider(overview.providerHost ?? issuer)} />;
  const { recoveryCodes } = overview;
  const recoveryText = recoveryCodes === 0 ? home.recoveryNone : home.recoveryLeft(recoveryCodes);
  const rows = [
    renderRow(home.password, home.passwordText, '/password', home.changePassword),
    hasTotp
      ? renderRow(home.totp, home.totpOn, '/totp/off', home.totpRemove)
      : renderRow(
          home.totp,
          passkeys > 0 ? home.totpPasskeys : home.totpOff,
          '/totp',
          home.totpSetUp,
        ),
    passkeys > 0
      ? renderRow(home.passkeys, home.passkeyCount(passkeys), '/passkeys', home.passkeysManage)
      : renderRow(home.passkeys, home.passkeysNone, '/passkeys', home.passkeysAdd),
    renderRow(home.recovery, recoveryText, '/recovery-codes', home.recoveryMake),
    ...(overview.hasMail
      ? [renderRow(home.email, email ?? home.emailNone, '/email', home.emailChange)]
      : []),
  ];
  return (
    <Card title={home.security}>
      <RowList rows={rows} />
    </Card>
  );
}

function PeopleSection({ people }: Visit['texts']) {
  return (
    <Card title={people.title} lead={people.homeLead}>
      <ActionLink href="/people">{people.manage}</ActionLink>
    </Card>
  );
}

function DataSection({ home }: Visit['texts']) {
  const rows = [
    <Row name={home.export} lines={[home.exportText]}>
      <form method="post" action="/export">
        <button class="plain slight">{home.exportSubmit}</button>
      </form>
    </Row>,
    renderRow(home.erase, home.eraseText, '/erase', home.eraseLink, 'danger'),
  ];
  return (
    <Card title={home.data}>
      <RowList rows={rows} />
    </Card>
  );
}

/** Returns the account page: all access to the account, and its security. */
export function accountPage(visit: Visit, overview: AccountOverview): Page {
  const { home, account } = visit.texts;
  const { name } = overview.account;
  const body = (
    <>
      {overview.done && (
        <p class="notice good" role="status">
          {home.done}
        </p>
      )}
      <SuspendedNotice texts={visit.texts} appPasswords={overview.appPasswords} />
      <AppsSection visit={visit} overview={overview} />
      <DevicesSection visit={visit} overview={overview} />
      <AppPasswordsSection visit={visit} overview={overview} />
      <SessionsSection visit={visit} overview={overview} />
      <NoticesSection visit={visit} notices={overview.notices} />
      <SecuritySection visit={visit} overview={overview} />
      {overview.account.isAdministrator && <PeopleSection {...visit.texts} />}
      <DataSection {...visit.texts} />
    </>
  );
  return {
    title: account,
    heading: name === null ? account : home.hello(name),
    lead: home.lead,
    isAccountTab: true,
    body,
  };
}
