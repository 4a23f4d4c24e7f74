import { ActionLink, Card, Field, Row } from '#ui';
import { type Account, stateOf } from '../../people/accounts.js';
import type { PeopleConfig } from '../../people/people.config.js';
import type { Page, Visit } from '../document.js';
import type { RefusedForm } from '../refusal.texts.js';
import {
  Actions,
  CopyValue,
  Facts,
  joinParts,
  LinkButton,
  QrCode,
  RefusalNotice,
  renderTime,
  Rows,
} from './components.js';

/** Changes of an account by an administrator; values of the field `action`. */
export const actions = ['reset', 'disable', 'enable', 'appoint', 'dismiss'] as const;
/** A change of {@link actions}. */
export type Action = (typeof actions)[number];

/** A part of the list of accounts. */
export interface PeopleList {
  readonly accounts: readonly Account[];
  /** Searched part of names; empty for all accounts. */
  readonly name: string;
  /** True for the first part. */
  readonly isFirst: boolean;
  /** Id of the last account, if there are more. */
  readonly next: string | undefined;
  readonly registration: PeopleConfig['REGISTRATION'];
}

const nameOf = ({ people }: Visit['texts'], { name, id }: Account) => name ?? people.noName(id);

function tagsOf({ people }: Visit['texts'], account: Account) {
  const state = stateOf(account);
  return (
    <>
      {account.isAdministrator && <span class="tag">{people.administrator}</span>}
      {state !== 'active' && (
        <span class={`tag ${state === 'disabled' ? 'bad' : 'plain-tag'}`}>
          {people.states[state]}
        </span>
      )}
    </>
  );
}

function timesOf(visit: Visit, { createdAt, signedInAt }: Account) {
  const { home, people } = visit.texts;
  return joinParts(
    [home.created, ' ', renderTime(visit, createdAt)],
    signedInAt ? [people.signedIn, ' ', renderTime(visit, signedInAt)] : people.neverSignedIn,
  );
}

/** Returns the page that lists accounts, for administrators. */
export function peoplePage(visit: Visit, of: PeopleList): Page {
  const { people } = visit.texts;
  const pathOf = (after?: string) => {
    const query = { ...(of.name && { name: of.name }), ...(after !== undefined && { after }) };
    return `/people?${new URLSearchParams(query).toString()}`;
  };
  const rows = of.accounts.map((account) => (
    <Row
      name={nameOf(visit.texts, account)}
      href={`/people/${account.id}`}
      tag={tagsOf(visit.texts, account)}
      lines={[timesOf(visit, account)]}
    />
  ));
  const body = (
    <>
      <Card title={people.new} lead={people.registration[of.registration]}>
        {of.registration !== 'closed' && (
          <ActionLink href="/people/invitation">{people.invite}</ActionLink>
        )}
      </Card>
      <Card title={people.list}>
        <form method="get" action="/people" role="search">
          <Field
            id="name"
            type="search"
            label={people.search}
            value={of.name}
            autocomplete="off"
            maxLength={64}
          />
          <p class="actions">
            <button class="plain slight">{people.submitSearch}</button>
          </p>
        </form>
        <Rows rows={rows} none={people.none} />
        <p class="actions">
          {(!of.isFirst || of.name) && (
            <a class="button plain slight" href={of.isFirst ? '/people' : pathOf()}>
              {of.isFirst ? people.all : people.first}
            </a>
          )}
          {of.next !== undefined && (
            <a class="button plain slight" href={pathOf(of.next)}>
              {people.next}
            </a>
          )}
        </p>
      </Card>
    </>
  );
  return { title: people.title, lead: people.lead, isHome: true, body };
}

/** Renders a new link, which is shown once. */
function ShownLink({ texts, url }: { texts: Visit['texts']; url: string }) {
  const { people } = texts;
  return (
    <>
      <CopyValue texts={texts} id="link" label={people.link} value={url} />
      <QrCode text={url} alt={people.qr} />
      <p class="quiet small">{people.linkOnce}</p>
    </>
  );
}

/** The form of an invitation, or its result. */
export interface Invitation extends RefusedForm {
  /** True if a mail server is configured. */
  readonly mail: boolean;
  /** URL of a new link. */
  readonly url?: string;
  /** Address to which a link was mailed. */
  readonly sentTo?: string;
}

/** Returns the page that creates an invitation, and shows its link once. */
export function invitationPage(visit: Visit, of: Invitation): Page {
  const { texts } = visit;
  const { people } = texts;
  if (of.url === undefined) return invitationForm(visit, of);
  const body = (
    <>
      <ShownLink texts={texts} url={of.url} />
      <LinkButton href="/people">{people.title}</LinkButton>
    </>
  );
  return { title: people.invited, lead: people.invitedLead, body };
}

function invitationForm({ texts }: Visit, of: Invitation): Page {
  const { people, cancel } = texts;
  const body = (
    <>
      <RefusalNotice>{of.problems?.form}</RefusalNotice>
      {of.sentTo !== undefined && (
        <p class="notice good" role="status">
          {people.sent(of.sentTo)}
        </p>
      )}
      <form method="post" action="/people/invitation">
        {of.mail && (
          <Field
            id="email"
            type="email"
            label={people.inviteEmail}
            hint={people.inviteEmailHint}
            value={of.entered}
            error={of.problems?.email}
            autocomplete="off"
            maxLength={254}
          />
        )}
        <Actions leave={cancel} to="/people">
          <button>{people.createLink}</button>
        </Actions>
      </form>
    </>
  );
  const isRefused = of.problems !== undefined;
  return { title: people.invite, lead: people.inviteLead, isRefused, body };
}

/** An account with the result of a change. */
export interface ManagedPerson {
  readonly account: Account;
  /** True for the own account of the administrator, who cannot disable it here. */
  readonly isSelf: boolean;
  /** The change that was made. */
  readonly done?: Action;
  /** URL of a new reset link. */
  readonly url?: string;
  /** Reason why a change was refused. */
  readonly problem?: string;
}

/** Returns the changes that a page offers for an account. */
function actionsFor({ account, isSelf }: ManagedPerson): Action[] {
  const { disabled, isAdministrator, issuer } = account;
  const changes: (Action | false)[] = [
    !disabled && issuer === null && 'reset',
    isAdministrator ? 'dismiss' : 'appoint',
    disabled ? 'enable' : !isSelf && 'disable',
  ];
  return changes.filter((change) => change !== false);
}

/** Returns the page of an account, for administrators. */
export function personPage(visit: Visit, of: ManagedPerson): Page {
  const { texts } = visit;
  const { people, home } = texts;
  const { account, done } = of;
  const name = nameOf(texts, account);
  const rows = actionsFor(of).map((action) => (
    <Row name={people.actions[action]} lines={[people.effects[action]]}>
      <form method="post" action={`/people/${account.id}`}>
        <input type="hidden" name="action" value={action} />
        <button class={`slight ${action === 'disable' ? 'danger' : 'plain'}`}>
          {people.buttons[action]}
        </button>
      </form>
    </Row>
  ));
  const body = (
    <>
      <RefusalNotice>{of.problem}</RefusalNotice>
      {done && (
        <p class="notice good" role="status">
          {people.done[done](name)}
        </p>
      )}
      {of.url !== undefined && (
        <section class="card">
          <ShownLink texts={texts} url={of.url} />
        </section>
      )}
      <Card title={people.account}>
        <Facts
          of={[
            [people.state, people.states[stateOf(account)]],
            [people.administrator, account.isAdministrator ? people.yes : people.no],
            [home.totp, account.hasTotp || account.passkeyCount > 0 ? people.yes : people.no],
            [home.created, renderTime(visit, account.createdAt)],
            [
              people.signedIn,
              account.signedInAt ? renderTime(visit, account.signedInAt) : people.never,
            ],
            [people.id, account.id],
          ]}
        />
      </Card>
      <Card title={people.change}>
        <Rows rows={rows} />
        <ActionLink href="/people" look="plain">
          {people.all}
        </ActionLink>
      </Card>
    </>
  );
  return { title: name, isHome: true, isRefused: of.problem !== undefined, body };
}
