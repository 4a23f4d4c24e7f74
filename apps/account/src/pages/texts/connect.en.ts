import { numberFormatsFor } from '#ui';

const { plural } = numberFormatsFor('en');

/** English texts of the pages "Connect an app". Menus have the names that the apps show. */
export const connectTexts = {
  title: 'Connect an app',
  lead: 'Choose your podcast app. It takes about a minute.',
  appTitle: (app: string) => `Connect ${app}`,
  other: 'Another app',
  script: 'A script',
  syncs: {
    antennapod: 'Android. Subscriptions, positions, played',
    kasts: 'Linux. Subscriptions, positions, played, new',
    gpodder: 'Desktop. Subscriptions, played, downloaded',
    'music-assistant': 'Home audio. Positions and played; reads subscriptions',
    cardo: 'Desktop. Subscriptions, positions',
    'gnome-podcasts': 'Linux. Subscriptions, positions, played',
    other: 'With gPodder, Nextcloud or the Open Podcast API',
    script: 'With a bearer token',
  },
  later: 'Later',
  phone: 'Continue on your phone',
  phoneText: 'Scan this to open this page on your phone, in the same network.',
  phoneQr: 'QR code with the address of this page',
  localTitle: 'A phone cannot reach this address yet',
  localText:
    'Apps on this computer can use it. For a phone, stop the server with Ctrl-C, start it as ' +
    'follows, and sign in at the address that it then prints. Your account stays.',
  localCompose: 'With docker-compose, set PUBLIC_URL and HTTP_ADDRESS.',
  address: 'Server address',
  name: 'Name',
  secret: 'App password',
  secretOnce: 'Copy it now: it is shown only once.',
  secretLead: 'This app asks for a name and a password. Never type the password of your account.',
  makeSecret: 'Make an app password',
  noNameText: 'The app also needs a name.',
  noNameLink: 'Choose a name',
  stepsTitle: 'In the app',
  steps: {
    antennapod: [
      'Open Settings › Synchronization › Choose synchronization provider.',
      'Choose Nextcloud. You need no Nextcloud: this server speaks its protocol.',
      'Type the server address as it is above, and tap Proceed to login.',
      'A browser opens. Sign in and allow AntennaPod.',
      'Go back to AntennaPod. The first sync starts.',
    ],
    kasts: [
      'Open Settings › Synchronization, and click Login.',
      'Choose gpodder.net, and type the name and the app password.',
      'Select Use custom server, and type the server address as Hostname.',
      'Click Create Device, and answer the next question with OK.',
    ],
    gpodder: [
      'Open Preferences › gpodder.net.',
      'Select Synchronize subscriptions and episode actions.',
      'Type the server address, the name, the app password and any device name.',
      'Do not click Upload local subscriptions: it replaces the podcasts on the server.',
    ],
    'music-assistant': [
      'Open Settings › Providers, and add gPodder.',
      'Choose gpodder / opodsync server as the connection method.',
      'Type the server address as gPodder Service URL.',
      'Type the name, the app password and any Device ID.',
    ],
    cardo: [
      'In the settings, choose to sync with Nextcloud.',
      'Type the server address, and connect.',
      'A browser opens. Sign in and allow Cardo.',
    ],
    'gnome-podcasts': [
      'In the sync preferences, type the server address.',
      'Choose the login with the browser. Sign in and allow the app.',
    ],
    other: [
      'Look in the settings of the app for gPodder, Nextcloud or the Open Podcast API.',
      'Type the server address.',
      'For Nextcloud, a browser opens: sign in and allow the app.',
      'If the app asks for a name and a password, type the name and an app password.',
    ],
    script: [
      'Send the app password with each request, as Authorization: Bearer.',
      'GET /v1/subscriptions returns your podcasts. The API is described at /docs.',
    ],
  },
  next: 'Done',
  waitTitle: (app: string) => `Waiting for ${app}`,
  waitText: 'This page changes as soon as the app has synced for the first time.',
  waitHelp:
    'Nothing happens? Start the sync in the app. Then open the server address in a browser on ' +
    'the device of the app: it shows whether the device can reach the server.',
  check: 'Check now',
  backToSteps: 'Back to the steps',
  connectedTitle: 'Connected',
  connectedText: (app: string, ago: string, podcasts?: number) =>
    `${app} synced ${ago}${podcasts ? `, ${plural(podcasts, 'podcast', 'podcasts')}` : ''}.`,
  noPodcasts: 'The app has sent no podcasts yet. This page changes as soon as they arrive.',
  podcasts: 'See your podcasts',
  another: 'Connect another app',
};
