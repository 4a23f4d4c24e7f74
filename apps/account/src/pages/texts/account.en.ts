import { numberFormatsFor } from '#ui';

const { plural } = numberFormatsFor('en');

/** English texts of pages for signed-in users. */
export const accountTexts = {
  home: {
    hello: (name: string) => `Hello, ${name}`,
    lead: 'See what can access your podcasts and how your account is protected.',
    done: 'Saved.',
    apps: 'Apps',
    podcasts: (count: number) => `${plural(count, 'podcast', 'podcasts')}, the same in all apps.`,
    synced: 'Synced',
    neverSynced: 'Not synced yet',
    appsLead: 'Apps with access to your account. An app that you remove is signed out immediately.',
    noApps: 'No app yet.',
    since: 'Connected',
    lastUsed: 'Last used',
    neverUsed: 'Never used',
    remove: 'Remove',
    removeNamed: (name: string) => `Remove ${name}`,
    connectDevice: 'Connect a TV, a car or a terminal by its code',
    appPasswords: 'App passwords',
    appPasswordsLead:
      'For scripts and other programs. You can revoke each app password separately.',
    noAppPasswords: 'No app password yet.',
    newAppPassword: 'New app password',
    revoke: 'Revoke',
    revokeNamed: (name: string) => `Revoke ${name}`,
    created: 'Created',
    expires: 'Expires',
    neverExpires: 'does not expire',
    expired: 'expired',
    suspended: 'suspended',
    suspendedText:
      'Your password was reset or a recovery code was used, so app passwords are suspended.',
    suspendedLink: 'Choose which app passwords to keep',
    mayRead: 'can read',
    mayWrite: 'can read and change',
    mayOnlyWrite: 'can only change',
    devices: 'Devices',
    devicesLead:
      'Names that apps gave to your devices. A device that you forget returns when it syncs again.',
    forget: 'Forget',
    forgetNamed: (name: string) => `Forget ${name}`,
    sessions: 'Signed-in browsers',
    sessionsLead:
      'Browsers that are signed in to your account. End the sessions that you do not recognize, ' +
      'then change your password.',
    thisBrowser: 'this browser',
    signedIn: 'Signed in',
    end: 'End',
    endNamed: (name: string) => `End ${name}`,
    endOthers: 'End all other sessions',
    unknownBrowser: 'Unknown browser',
    browserOn: (browser: string, system: string) => `${browser} on ${system}`,
    notices: 'Recent changes',
    noticesLead:
      'If you do not recognize a change, end unknown sessions, remove unknown apps and ' +
      'change your password.',
    security: 'Sign-in and security',
    password: 'Password',
    passwordText: 'Change it if somebody else could know it.',
    changePassword: 'Change password',
    totp: 'Second step',
    totpOn: 'On. Signing in asks for a code from your authenticator app.',
    totpOff: 'Off. With a second step, a stolen password alone gives no access.',
    totpSetUp: 'Set up',
    totpRemove: 'Switch off',
    totpPasskeys: 'No authenticator app. Your passkeys are the second step.',
    passkeys: 'Passkeys',
    passkeysNone: 'None. With a passkey, you sign in without a password.',
    passkeyCount: (count: number) => `${plural(count, 'passkey', 'passkeys')}.`,
    passkeysAdd: 'Add',
    passkeysManage: 'Manage',
    recovery: 'Recovery codes',
    recoveryNone: 'None. A recovery code replaces a lost password or authenticator app.',
    recoveryLeft: (count: number) => `${plural(count, 'code is', 'codes are')} left.`,
    recoveryMake: 'Create new codes',
    email: 'E-mail',
    emailNone: 'None. With an e-mail address, you can reset a lost password yourself.',
    emailChange: 'Change e-mail',
    data: 'Your data',
    export: 'Export',
    exportText: 'One file with all your data.',
    exportSubmit: 'Download',
    erase: 'Erase',
    eraseText: 'Permanently deletes your account and everything in it.',
    eraseLink: 'Erase account',
    provider: (host: string) =>
      `You sign in with ${host}, which also manages your password and second step.`,
  },
  changePassword: {
    title: 'Change password',
    lead:
      'All other browsers and the apps that you allowed will be signed out. ' +
      'App passwords stay valid: revoke those that you do not recognize.',
    current: 'Current password',
    submit: 'Change password',
  },
  changeEmail: {
    title: 'Change e-mail',
    lead: 'We send a link to the new address. Open it to confirm the address.',
    hint: 'Used to reset a lost password and to notify you of changes to your account.',
    invalid: 'This is not an e-mail address.',
    remove: 'Remove the address',
    submit: 'Send the link',
    sentTitle: 'Check your inbox',
    sentText: (email: string) => `A link is on its way to ${email}. It works for one day.`,
  },
  totp: {
    title: 'Set up the second step',
    lead: 'Signing in will ask for a code from an authenticator app on your phone.',
    scan: 'Scan this code with your authenticator app.',
    qr: 'QR code with the key for your authenticator app',
    open: 'Open in an app on this device',
    key: 'Or enter this key manually:',
    enter: 'Then enter the six digits that the app shows now.',
    submit: 'Switch on',
    refused: 'This code is wrong. Enter the code that the app shows now.',
    offTitle: 'Switch off the second step',
    offLead:
      'Unless you have a passkey, your password alone will then be enough to sign in. ' +
      'Enter a code to confirm.',
    offSubmit: 'Switch off',
  },
  passkeys: {
    title: 'Passkeys',
    lead:
      'A passkey signs you in with your fingerprint, your face or a PIN, without a password. ' +
      'If you sign in with the password, a passkey is the second step.',
    none: 'No passkey yet.',
    label: 'Name of the new passkey',
    submit: 'Add a passkey',
    missing: 'To add a passkey, you need JavaScript and a browser that supports passkeys.',
    noAddress:
      'Passkeys need an address with a domain name and HTTPS, which this page does not have.',
    failed: 'The browser returned no passkey. Try again.',
    refused: 'The passkey was not accepted. Try again.',
    full: 'Your account has the maximum number of passkeys. Remove one first.',
    suspended:
      'Your password was reset or a recovery code was used, so passkeys are suspended: they work ' +
      'only as the second step. A use after the password ends the suspension of a passkey.',
  },
  recovery: {
    title: 'Recovery codes',
    lead:
      'Each code works once instead of your password or authenticator app. ' +
      'New codes replace the current ones.',
    submit: 'Create new codes',
    shownTitle: 'Your recovery codes',
    shownLead: 'Store them in a password manager, or print them. They are not shown again.',
    list: 'Ten recovery codes',
    kept: 'I have stored them',
  },
  appPassword: {
    title: 'New app password',
    lead: 'Use a separate app password for each app, so that you can revoke each one separately.',
    label: 'What is it for?',
    labelHint: 'A name that you will recognize, such as “AntennaPod on my phone”.',
    labelInvalid: 'Enter a name of 1 to 64 characters with a letter or digit.',
    rights: 'Access',
    rightsOf: { all: 'read and change', read: 'read only' },
    expires: 'It expires',
    expiry: { never: 'never', month: 'after 30 days', year: 'after a year' },
    submit: 'Create app password',
    shownTitle: 'Your new app password',
    shownLead: (label: string) => `For “${label}”. Copy it now: it is not shown again.`,
    server: 'Server',
    name: 'Name',
    secret: 'App password',
    bearer: 'Scripts send it as a bearer token.',
    done: 'Done',
    tooMany: 'Your account has the maximum number of app passwords. Revoke one first.',
  },
  keepAppPasswords: {
    title: 'Keep app passwords?',
    lead:
      'Your password was reset or a recovery code was used, so app passwords are suspended. ' +
      'Tick the app passwords of your own apps. All other suspended app passwords are deleted.',
    legend: 'Keep these app passwords',
  },
  erase: {
    title: 'Erase your account',
    lead:
      'This permanently deletes your account, subscriptions, listening states, apps and ' +
      'app passwords. Nobody can restore them.',
    exportFirst: 'You may want to export your data first.',
    confirm: (name: string) => `Enter your name (${name}) to continue`,
    wrongName: 'The name does not match. Enter it exactly as shown.',
    submit: 'Erase everything',
    keep: 'Keep my account',
    doneTitle: 'Your account is being erased',
    doneText: 'You are signed out everywhere. Erasing your data takes a few minutes.',
  },
};
