import { ActionLink, Card, Field, Row } from '#ui';
import { type Account, accountState } from '../../people/accounts.js';
import type { PeopleConfig } from '../../people/people.config.js';
import type { Page, Visit } from '../document.js';
import type { RefusedForm } from '../refusal-texts.js';
import {
  CopyValue,
  FactList,
  FormActions,
  joinParts,
  LinkButton,
  QrCode,
  RefusalNotice,
  renderTime,
  RowList,
} from './controls.js';

/** Actions of an administrator on an account; values of the form's field `action`. */
export const accountActions = ['reset', 'disable', 'enable', 'appoint', 'dismiss'] as const;
/** An action of {@link accountActions}. */
export type AccountAction = (typeof accountActions)[number];

/** One page of the list of accounts. */
export interface PeopleList {
  readonly accounts: readonly Account[];
  /** Search text: the listed names contain it. Empty for all accounts. */
  readonly name: string;
  /** True for the first page of the list. */
  readonly isFirst: boolean;
  /** Id of the last account on this page; undefined on the last page. */
  readonly next: string | undefined;
  readonly registration: PeopleConfig['REGISTRATION'];
}

const formatName = ({ people }: Visit['texts'], { name, id }: Account) => name ?? people.noName(id);

function renderAccountTags({ people }: Visit['texts'], account: Account) {
  const state = accountState(account);
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

function renderAccountTimes(visit: Visit, { createdAt, signedInAt }: Account) {
  const { home, people } = visit.texts;
  return joinParts(
    [home.created, ' ', renderTime(visit, createdAt)],
    signedInAt ? [people.signedIn, ' ', renderTime(visit, signedInAt)] : people.neverSignedIn,
  );
}

/** Returns the page that lists accounts, for administrators. */
export function peoplePage(visit: Visit, content: PeopleList): Page {
  const { people } = visit.texts;
  const buildPagePath = (after?: string) => {
    const query = {
      ...(content.name && { name: content.name }),
      ...(after !== undefined && { after }),
    };
    return `/people?${new URLSearchParams(query).toString()}`;
  };
  const rows = content.accounts.map((account) => (
    <Row
      name={formatName(visit.texts, account)}
      href={`/people/${account.id}`}
      tag={renderAccountTags(visit.texts, account)}
      lines={[renderAccountTimes(visit, account)]}
    />
  ));
  const body = (
    <>
      <Card title={people.new} lead={people.registration[content.registration]}>
        {content.registration !== 'closed' && (
          <ActionLink href="/people/invitation">{people.invite}</ActionLink>
        )}
      </Card>
      <Card title={people.list}>
        <form method="get" action="/people" role="search">
          <Field
            id="name"
            type="search"
            label={people.search}
            value={content.name}
            autocomplete="off"
            maxLength={64}
          />
          <p class="actions">
            <button class="plain slight">{people.submitSearch}</button>
          </p>
        </form>
        <RowList rows={rows} none={people.none} />
        <p class="actions">
          {(!content.isFirst || content.name) && (
            <a class="button plain slight" href={content.isFirst ? '/people' : buildPagePath()}>
              {content.isFirst ? people.all : people.first}
            </a>
          )}
          {content.next !== undefined && (
            <a class="button plain slight" href={buildPagePath(content.next)}>
              {people.next}
            </a>
          )}
        </p>
      </Card>
    </>
  );
  return { title: people.title, lead: people.lead, isAccountTab: true, body };
}

/** Renders a new link as text and as a QR code. Pages show the link only once. */
function NewLinkOnce({ texts, url }: { texts: Visit['texts']; url: string }) {
  const { people } = texts;
  return (
    <>
      <CopyValue texts={texts} id="link" label={people.link} value={url} />
      <QrCode text={url} alt={people.qr} />
      <p class="quiet small">{people.linkOnce}</p>
    </>
  );
}

/** Content of the invitation page: the form, or the result of the sent form. */
export interface Invitation extends RefusedForm {
  /** True if a mail server is configured. */
  readonly mail: boolean;
  /** URL of a new invitation link; absent if an invitation was sent by e-mail. */
  readonly url?: string;
  /** E-mail address to which an invitation was sent. */
  readonly sentTo?: string;
}

/** Returns the page that creates an invitation, and shows its link once. */
export function invitationPage(visit: Visit, content: Invitation): Page {
  const { texts } = visit;
  const { people } = texts;
  if (content.url === undefined) return invitationForm(visit, content);
  const body = (
    <>
      <NewLinkOnce texts={texts} url={content.url} />
      <LinkButton href="/people">{people.title}</LinkButton>
    </>
  );
  return { title: people.invited, lead: people.invitedLead, body };
}

function invitationForm({ texts }: Visit, content: Invitation): Page {
  const { people, cancel } = texts;
  const body = (
    <>
      <RefusalNotice>{content.problems?.form}</RefusalNotice>
      {content.sentTo !== undefined && (
        <p class="notice good" role="status">
          {people.sent(content.sentTo)}
        </p>
      )}
      <form method="post" action="/people/invitation">
        {content.mail && (
          <Field
            id="email"
            type="email"
            label={people.inviteEmail}
            hint={people.inviteEmailHint}
            value={content.entered}
            error={content.problems?.email}
            autocomplete="off"
            maxLength={254}
          />
        )}
        <FormActions leaveText={cancel} leavePath="/people">
          <button>{people.createLink}</button>
        </FormActions>
      </form>
    </>
  );
  const isRefused = content.problems !== undefined;
  return { title: people.invite, lead: people.inviteLead, isRefused, body };
}

/** Content of the page of an account: the account, with the result of an action. */
export interface ManagedPerson {
  readonly account: Account;
  /** True for the administrator's own account. The page then offers no disabling. */
  readonly isSelf: boolean;
  /** The action that has just changed the account. */
  readonly done?: AccountAction;
  /** URL of a new password-reset link; absent after other actions. */
  readonly url?: string;
  /** Reason why the action was refused. */
  readonly problem?: string;
}

/** Returns the actions that the page of an account offers. */
function listActions({ account, isSelf }: ManagedPerson): AccountAction[] {
  const { disabled, isAdministrator, issuer } = account;
  const actions: (AccountAction | false)[] = [
    !disabled && issuer === null && 'reset',
    isAdministrator ? 'dismiss' : 'appoint',
    disabled ? 'enable' : !isSelf && 'disable',
  ];
  return actions.filter((action) => action !== false);
}

/** Returns the page of an account, for administrators. */
export function personPage(visit: Visit, content: ManagedPerson): Page {
  const { texts } = visit;
  const { people, home } = texts;
  const { account, done } = content;
  const name = formatName(texts, account);
  const rows = listActions(content).map((action) => (
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
      <RefusalNotice>{content.problem}</RefusalNotice>
      {done && (
        <p class="notice good" role="status">
          {people.done[done](name)}
        </p>
      )}
      {content.url !== undefined && (
        <section class="card">
          <NewLinkOnce texts={texts} url={content.url} />
        </section>
      )}
      <Card title={people.account}>
        <FactList
          facts={[
            [people.state, people.states[accountState(account)]],
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
        <RowList rows={rows} />
        <ActionLink href="/people" look="plain">
          {people.all}
        </ActionLink>
      </Card>
    </>
  );
  return { title: name, isAccountTab: true, isRefused: content.problem !== undefined, body };
}
