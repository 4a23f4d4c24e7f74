import { frameTexts, numberFormatsFor } from '#ui';
import { accountTexts } from './account.en.js';
import { connectTexts } from './connect.en.js';
import { peopleTexts } from './people.en.js';

const { plural } = numberFormatsFor('en');

/** Returns title and text of a failure: what is wrong, and what to do. */
const failure = (title: string, text: string) => [title, text] as const;

/** English texts of the pages. */
export const en = {
  ...frameTexts.en,
  ...accountTexts,
  connect: connectTexts,
  people: peopleTexts,
  problem: 'Error',
  account: 'Your account',
  back: 'Back',
  save: 'Save',
  later: 'Later',
  continue: 'Continue',
  copy: 'Copy',
  copied: 'Copied',
  print: 'Print',
  download: 'Download',
  showPassword: 'Show password',
  hidePassword: 'Hide password',

  name: 'Name',
  nameHint: 'Up to 64 letters (A to Z), digits, dots, hyphens and underscores, without spaces.',
  password: 'Password',
  newPassword: 'New password',
  passwordHint:
    'At least 12 characters. A few words in a row are easy to memorize and hard to guess.',
  emailAddress: 'E-mail',
  code: 'Code',

  signIn: {
    title: 'Sign in',
    again: 'For your security, sign in again: your last sign-in was some minutes ago.',
    submit: 'Sign in',
    forgot: 'Forgot your password?',
    register: 'Create an account',
    signedOut: 'You are signed out.',
    tooLate: 'The sign-in took too long, or your password has changed. Sign in again.',
    newPassword: 'Your password was changed. Sign in with the new password.',
    refused: 'The name or the password is wrong.',
    passkey: 'Sign in with a passkey',
    passkeyRefused: 'The passkey was not accepted. Try again, or sign in with your password.',
    provider: (host: string) => `Continue with ${host}`,
    providerText: (host: string) =>
      `This server uses the accounts of ${host}. You sign in there and then return.`,
    chooseName: 'Choose a name',
    chooseNameText: 'Some apps ask for a name and a password. You cannot change the name later.',
  },
  secondStep: {
    title: 'Enter your code',
    lead:
      'Your account needs a second step. Open your authenticator app and enter the six digits ' +
      'that it shows.',
    codeHint: 'Six digits; the code changes every 30 seconds.',
    refused: 'This code is wrong or was already used. Enter the code that the app shows now.',
    lost: 'No access to the app? Use a recovery code',
    passkeyTitle: 'Use your passkey',
    passkeyLead: 'Your account needs a second step. Confirm it with one of your passkeys.',
    passkey: 'Use a passkey',
    passkeyMissing:
      'This needs JavaScript, a browser that supports passkeys, and the address at which you ' +
      'added the passkey. Otherwise use a recovery code.',
    lostPasskey: 'No access to your passkeys? Use a recovery code',
    recoveryTitle: 'Use a recovery code',
    recoveryLead: 'A recovery code works once. All other browsers and all apps will be signed out.',
    recoveryCode: 'Recovery code',
    recoveryRefused: 'This recovery code is wrong or was already used.',
  },
  register: {
    firstTitle: 'Welcome',
    firstLead:
      'This server is new. Create its first account. With it, you can invite others later.',
    inviteTitle: 'You are invited',
    inviteLead:
      'Create your account on this server. ' +
      'Your subscriptions and positions will be the same on every device.',
    openTitle: 'Create an account',
    openLead: 'Your subscriptions and positions will be the same on every device.',
    submit: 'Create account',
    haveOne: 'I already have an account',
    nameTaken: 'This name is taken. Choose another one.',
    nameInvalid: 'This name is too long or has other characters.',
    closedTitle: 'No account yet?',
    closedText:
      'The administrator of this server can give you one. ' +
      'A new server prints the link of its first account when it starts.',
  },
  passwordProblem: {
    short: 'This password has fewer than 12 characters.',
    long: 'This password is too long: at most 1,000 bytes.',
    common: 'This password is easy to guess. Choose another one.',
    wrong: 'This is not your password.',
  },
  forgot: {
    title: 'Set a new password',
    lead:
      'Enter your name. If the account has a confirmed e-mail address, we send a link to it, ' +
      'which works for one hour.',
    submit: 'Send the link',
    sentTitle: 'Check your inbox',
    sentText:
      'If an account with this name has a confirmed e-mail address, a link is on its way. ' +
      'It works for one hour.',
    withoutMail:
      'This server sends no mail. Use a recovery code, or ask its administrator for a link.',
    recovery: 'Use a recovery code',
    resetLead: (name: string) =>
      `Choose a new password for ${name}. All browsers and apps will be signed out.`,
    resetSubmit: 'Set the password',
    refused: 'The name or the recovery code is wrong.',
  },
  verify: {
    title: 'Confirm your e-mail',
    lead: (email: string) => `Is ${email} yours?`,
    submit: 'Yes, confirm',
    doneTitle: 'Confirmed',
    doneText: 'Your e-mail address is confirmed.',
  },
  link: {
    goneTitle: 'This link no longer works',
    goneText:
      'The link was used, has expired or is incomplete. If you have used it, sign in. ' +
      'Otherwise ask for a new link.',
    appTitle: 'This request has ended',
    appText:
      'The request was answered already, or has expired. Go back to your app. If the app is not ' +
      'connected, start the sign-in in the app again: it opens a new page.',
  },
  approve: {
    title: 'Allow access?',
    lead: 'An app requests access to your account. It calls itself:',
    wants: 'It will be able to',
    scopes: {
      'read:subscriptions': 'see your subscriptions and what you have listened to',
      'write:subscriptions': 'change your subscriptions and what you have listened to',
    } as Record<string, string>,
    until: 'It stays connected until you remove it in your account.',
    details: 'About this request',
    signedInAs: 'Your account',
    goesTo: 'Continues to',
    thisDevice: 'an app on this device',
    from: 'Requested from',
    fromHere: (address: string) => `${address} (your current address)`,
    asked: 'Requested',
    onlyIf: 'Only allow this request if you have just started it yourself.',
    deny: 'Deny',
    allow: 'Allow',
    allowedTitle: 'Done',
    allowedText: 'The app may sync now. Go back to the app; you can close this page.',
    deniedTitle: 'Denied',
    deniedText: 'The app has no access. You can close this page.',
  },
  device: {
    title: 'Connect a device',
    lead: 'Enter the code that the device shows.',
    code: 'Device code',
    compare: 'Your device must show this code',
    missing: 'Enter the code that the device shows.',
    unknown: 'This code is unknown or has expired. Check the code on the device.',
  },
  forward: {
    title: 'One moment …',
    text: (where: string) => `You are being redirected to ${where}.`,
    link: 'Continue',
    app: 'the app',
  },
  failure: {
    badRequest: failure(
      'This did not work',
      'The request is incomplete or invalid. Go back and try again.',
    ),
    crossSite: failure(
      'This did not work',
      'The form was sent from another site. Open this page directly and try again.',
    ),
    forbidden: failure('Access denied', 'You are not allowed to do this.'),
    signedOut: failure(
      'Access denied',
      'You are no longer signed in, or your account is disabled. Sign in again.',
    ),
    erased: failure('Account erased', 'This account was erased and cannot be used again.'),
    notFound: failure('Page not found', 'This server has no page at this address.'),
    methodNotAllowed: failure(
      'This did not work',
      'This page does not accept this kind of request. Go back and try again.',
    ),
    tooLarge: failure('Request too large', 'The request is larger than the server accepts.'),
    tooMany: failure(
      'Please wait',
      'Too many requests came from your network. Apps try again on their own.',
    ),
    busy: failure('Server busy', 'The server has too many requests.'),
    unavailable: failure(
      'Temporarily unavailable',
      'A part of this server is unavailable. Nothing is lost. Try again soon.',
    ),
    internal: failure(
      'Something went wrong',
      'The server has an internal error. Try again. ' +
        'If it happens again, contact the administrator.',
    ),
    /** Texts about reached limits, by `LimitedAction`: what happened, and what still works. */
    limited: {
      password:
        'Too many wrong passwords for this name or from your network. A recovery code still ' +
        'works, as does a browser in which you signed in before. Apps continue to sync.',
      change: 'Too many wrong passwords. You stay signed in, and apps continue to sync.',
      code: 'Too many wrong codes. A recovery code still works. Apps continue to sync.',
      recovery:
        'Too many wrong recovery codes. Your password and your authenticator app still work, and ' +
        'the administrator can send you a link. Apps continue to sync.',
      link: 'Too many passwords were set from your network. The link stays valid.',
      registration:
        'Too many accounts were created from your network. An invitation link still works.',
      mail: 'Too many mails were requested. Use the link in the latest mail.',
      export: 'An export of your data is already running. Wait until that download has ended.',
    },
    app: (host: string) => `App that sent the request: ${host}`,
    part: (name: string) => `Unavailable: ${name}.`,
    database: 'the database',
    retry: (seconds: number) =>
      seconds < 90
        ? `Try again in ${seconds} seconds.`
        : `Try again in ${plural(Math.ceil(seconds / 60), 'minute', 'minutes')}.`,
    request: 'ID of this request, for the administrator:',
    home: 'To your account',
  },
};

/** Texts that each language must have. */
export type Texts = typeof en;
