import type { RefusalCode } from '../../people/refusal.js';

/** English texts of the pages on which administrators manage accounts. */
export const peopleTexts = {
  title: 'People',
  lead: 'The accounts of this server. You cannot see podcasts or passwords of other people.',
  homeLead: 'You are an administrator of this server: invite people and manage their accounts.',
  manage: 'Manage people',
  new: 'New accounts',
  registration: {
    invite: 'People need an invitation to create an account (setting REGISTRATION: invite).',
    open: 'Anyone can create an account (setting REGISTRATION: open).',
    closed: 'Nobody can create an account on these pages (setting REGISTRATION: closed).',
  },
  list: 'Accounts',
  search: 'Search by name',
  submitSearch: 'Search',
  none: 'No account matches.',
  all: 'All accounts',
  first: 'First page',
  next: 'Next page',
  noName: (id: string) => `Without a name (${id})`,
  administrator: 'Administrator',
  state: 'State',
  states: { active: 'active', disabled: 'disabled', 'no password': 'no password yet' },
  signedIn: 'Last sign-in',
  neverSignedIn: 'Never signed in',
  never: 'never',
  yes: 'yes',
  no: 'no',
  id: 'User id',
  account: 'Account',
  change: 'Changes',
  invite: 'Invite a person',
  inviteLead:
    'A link lets one person create an account with any name. It works once, for seven days.',
  inviteEmail: 'E-mail (optional)',
  inviteEmailHint: 'We send the link to this address. Without an address, this page shows it.',
  createLink: 'Create the link',
  sent: (email: string) => `An invitation is on its way to ${email}.`,
  invited: 'Your invitation',
  invitedLead: 'Send the link to one person. It works once, for seven days.',
  link: 'Link',
  linkOnce: 'Copy it now: it is shown only once. Anyone with the link can use it.',
  qr: 'QR code with the link',
  actions: {
    reset: 'Lost password',
    disable: 'Disable',
    enable: 'Enable',
    appoint: 'Make administrator',
    dismiss: 'Remove as administrator',
  },
  effects: {
    reset:
      'A link to choose a new password. It works once, for one hour. ' +
      'Using it signs the person out everywhere; a second step stays.',
    disable: 'Signs the person out everywhere and refuses all apps. The data is kept.',
    enable: 'The person can sign in again. Apps with an app password work again.',
    appoint: 'Administrators can invite, disable and appoint people.',
    dismiss: 'The account and its data stay.',
  },
  buttons: {
    reset: 'Create a link',
    disable: 'Disable',
    enable: 'Enable',
    appoint: 'Appoint',
    dismiss: 'Remove',
  },
  done: {
    reset: (name: string) => `Give this link only to ${name}.`,
    disable: (name: string) => `${name} is disabled and signed out everywhere.`,
    enable: (name: string) => `${name} is enabled.`,
    appoint: (name: string) => `${name} is now an administrator.`,
    dismiss: (name: string) => `${name} is no longer an administrator.`,
  },
  /** By the code of a refusal. */
  problems: {
    last_administrator:
      'This is the only enabled administrator. Make another person an administrator first.',
    erased: 'The data of this account is being erased.',
    link: 'This account is disabled. Enable it first.',
  } as Partial<Record<RefusalCode, string>>,
};
