import { frameTexts, numbersOf } from '#ui';
import { accountTexts } from './account.en.js';

const { plural } = numbersOf('en');

/** A failure: what is wrong and what to do. */
const failure = (title: string, text: string) => [title, text] as const;

/** The English texts of the pages. */
export const en = {
  ...frameTexts.en,
  ...accountTexts,
  problem: 'Error',
  account: 'Your account',
  back: 'Back',
  save: 'Save',
  continue: 'Continue',

  name: 'Name',
  nameHint: 'Up to 64 letters, digits, dots, hyphens and underscores, without spaces.',
  password: 'Password',
  newPassword: 'New password',
  passwordHint: 'At least 12 characters. A few words in a row are easy to remember and hard to guess.',
  emailAddress: 'E-mail',
  code: 'Code',

  signIn: {
    title: 'Sign in',
    again: 'For your safety, please show that it is you: you did not sign in within the last minutes.',
    submit: 'Sign in',
    forgot: 'Forgot your password?',
    register: 'Create an account',
    signedOut: 'You are signed out.',
    tooLate: 'That took too long. Please sign in again.',
    newPassword: 'You have a new password. Sign in with it.',
    refused: 'Name or password is wrong.',
    provider: (host: string) => `Continue with ${host}`,
    providerText: (host: string) => `Accounts of this server are those of ${host}. You sign in there and come back.`,
    chooseName: 'Choose a name',
    chooseNameText: 'Apps that ask for a name and a password know you by it. It stays as it is.',
  },
  secondStep: {
    title: 'Enter your code',
    lead: 'Your account asks for a second step. Open your authenticator app and enter the six digits it shows.',
    codeHint: 'Six digits; a new code comes every 30 seconds.',
    refused: 'This code is wrong or was used before. Enter the one that is shown now.',
    lost: 'No access to the app? Use a recovery code',
    recoveryTitle: 'Use a recovery code',
    recoveryLead: 'It works once. All other browsers and all apps are signed out.',
    recoveryCode: 'Recovery code',
    recoveryRefused: 'This recovery code is wrong or was used before.',
  },
  register: {
    firstTitle: 'Welcome',
    firstLead: 'This is a new server. Make the first account: it is yours.',
    inviteTitle: 'You are invited',
    inviteLead:
      'Make your account on this server. Your subscriptions and where you stopped listening will be the same on every device.',
    openTitle: 'Create an account',
    openLead: 'Your subscriptions and where you stopped listening will be the same on every device.',
    submit: 'Create account',
    haveOne: 'I have an account already',
    nameTaken: 'Somebody has this name already. Please choose another one.',
    nameInvalid: 'Use up to 64 letters (A to Z), digits, dots, hyphens and underscores.',
    closedTitle: 'No new accounts',
    closedText: 'This server takes no new accounts. Ask those who run it.',
  },
  passwordProblem: {
    short: 'This password has fewer than 12 characters.',
    long: 'This password is too long: at most 1,000 bytes.',
    common: 'This password is one of those that are guessed first. Please choose another one.',
    wrong: 'This is not your password.',
    name: 'This password is your name. Please choose another one.',
  },
  forgot: {
    title: 'Set a new password',
    lead: 'Enter your name. If the account has a confirmed e-mail address, a link comes to it that works for one hour.',
    submit: 'Send the link',
    sentTitle: 'Look into your mailbox',
    sentText:
      'If there is an account with this name and a confirmed e-mail address, a link is on its way. It works for one hour.',
    withoutMail: 'This server sends no mail. Use a recovery code, or ask those who run it for a link.',
    recovery: 'Use a recovery code',
    recoveryLead: 'A recovery code replaces the password once. All browsers and apps are signed out.',
    resetLead: (name: string) => `Choose a new password for ${name}. All other browsers are signed out.`,
    resetSubmit: 'Set the password',
    refused: 'Name or recovery code is wrong.',
  },
  verify: {
    title: 'Confirm your e-mail',
    lead: (email: string) => `Is ${email} yours?`,
    submit: 'Yes, confirm',
    doneTitle: 'Confirmed',
    doneText: 'Your e-mail address is confirmed.',
  },
  link: {
    goneTitle: 'This link does not work any more',
    goneText: 'It was used already, has expired, or is not complete. Ask for a new one.',
  },
  approve: {
    title: (app: string) => `Let ${app} in?`,
    lead: (app: string) => `An app that calls itself “${app}” asks for access to your account.`,
    wants: 'It could',
    scopes: {
      'read:subscriptions': 'see your subscriptions and what you have listened to',
      'write:subscriptions': 'change your subscriptions and what you have listened to',
      openid: 'know your account’s number on this server',
      profile: 'know your name on this server',
      offline_access: 'stay connected until you remove it',
    } as Record<string, string>,
    otherScope: (scope: string) => `use what it calls “${scope}”`,
    until: 'It stays connected until you remove it in your account.',
    details: 'About this request',
    signedInAs: 'Your account',
    goesTo: 'Then goes to',
    thisDevice: 'an app on this device',
    from: 'Asked from',
    fromHere: (address: string) => `${address} (the address you use now)`,
    asked: 'Asked',
    onlyIf: 'Allow this only if you started it yourself, just now.',
    deny: 'Deny',
    allow: 'Allow',
    allowedTitle: 'Done',
    allowedText: (app: string) => `“${app}” is connected. Go back to it; you can close this page.`,
    deniedTitle: 'Denied',
    deniedText: 'The app was not let in. You can close this page.',
  },
  device: {
    title: 'Connect a device',
    lead: 'Enter the code that the device shows.',
    code: 'Code of the device',
    compare: 'Your device has to show this code',
    missing: 'Enter the code that the device shows.',
    unknown: 'There is no such code, or not any more. Look at the device again.',
  },
  forward: {
    title: 'One moment …',
    text: (where: string) => `You are taken to ${where}.`,
    link: 'Continue here if nothing happens',
    app: 'the app',
  },
  failure: {
    badRequest: failure(
      'This did not work',
      'The request is not complete or not as this page made it. Go back and try again.',
    ),
    crossSite: failure(
      'This did not work',
      'The form was sent from another site. Open this page directly and try again.',
    ),
    forbidden: failure('This is refused', 'You may not do this, or not any more. Sign in again and try once more.'),
    notFound: failure('Nothing here', 'There is no such page on this server.'),
    methodNotAllowed: failure('This did not work', 'This page cannot be used that way. Go back and try again.'),
    tooLarge: failure('Too much at once', 'What was sent is larger than this page takes.'),
    tooMany: failure('Please wait', 'There were too many tries. Please wait a moment and try again.'),
    busy: failure('Busy right now', 'Many people want this at once. Please try again in a few seconds.'),
    unavailable: failure(
      'Not available right now',
      'A part of this server is away. Nothing is lost. Please try again soon.',
    ),
    internal: failure(
      'Something went wrong',
      'This is a fault of the server. Please try again; if it stays, tell those who run it.',
    ),
    away: (what: string) => `Away right now: ${what}.`,
    database: 'the database',
    retry: (seconds: number) =>
      seconds < 90
        ? `Try again in ${seconds} seconds.`
        : `Try again in ${plural(Math.ceil(seconds / 60), 'minute', 'minutes')}.`,
    request: 'Number of this request, for those who run the server:',
    home: 'To your account',
  },
};

/** The texts that each language has: a missing one does not compile. */
export type Texts = typeof en;
