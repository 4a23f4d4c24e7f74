import { numberFormatsFor } from '#ui';
import type { connectTexts as en } from './connect.en.js';

const { plural } = numberFormatsFor('de');

/** German texts of the pages "Connect an app". Menus have the names that the apps show. */
export const connectTexts: typeof en = {
  title: 'App verbinden',
  lead: 'Wähle deine Podcast-App. Es dauert etwa eine Minute.',
  appTitle: (app: string) => `${app} verbinden`,
  other: 'Andere App',
  script: 'Skript',
  syncs: {
    antennapod: 'Android. Abonnements, Positionen, gehört',
    kasts: 'Linux. Abonnements, Positionen, gehört, neu',
    gpodder: 'Computer. Abonnements, gehört, heruntergeladen',
    'music-assistant': 'Musik zu Hause. Positionen und gehört; liest Abonnements',
    cardo: 'Computer. Abonnements, Positionen',
    'gnome-podcasts': 'Linux. Abonnements, Positionen, gehört',
    other: 'Mit gPodder, Nextcloud oder der Open Podcast API',
    script: 'Mit einem Bearer-Token',
  },
  later: 'Später',
  phone: 'Weiter auf dem Telefon',
  phoneText: 'Scanne den Code, um diese Seite auf dem Telefon zu öffnen, im selben Netz.',
  phoneQr: 'QR-Code mit der Adresse dieser Seite',
  localTitle: 'Ein Telefon erreicht diese Adresse noch nicht',
  localText:
    'Apps auf diesem Computer können sie verwenden. Für ein Telefon: Beende den Server mit ' +
    'Strg-C, starte ihn wie folgt und melde dich unter der Adresse an, die er dann ausgibt. ' +
    'Dein Konto bleibt.',
  localCompose: 'Mit docker-compose: Setze PUBLIC_URL und HTTP_ADDRESS.',
  address: 'Serveradresse',
  name: 'Name',
  secret: 'App-Passwort',
  secretOnce: 'Kopiere es jetzt: Es wird nur dieses eine Mal gezeigt.',
  secretLead:
    'Diese App fragt nach Name und Passwort. Gib dort nie das Passwort deines Kontos ein.',
  makeSecret: 'App-Passwort erstellen',
  noNameText: 'Die App braucht auch einen Namen.',
  noNameLink: 'Wähle einen Namen',
  stepsTitle: 'In der App',
  steps: {
    antennapod: [
      'Öffne Einstellungen › Synchronisation › Anbieter für Synchronisierung auswählen.',
      'Wähle Nextcloud. Du brauchst keine Nextcloud: Dieser Server spricht ihr Protokoll.',
      'Gib die Serveradresse wie oben ein und tippe auf Weiter zur Anmeldung.',
      'Ein Browser öffnet sich. Melde dich an und erlaube AntennaPod den Zugriff.',
      'Geh zurück zu AntennaPod. Die erste Synchronisation beginnt.',
    ],
    kasts: [
      'Öffne Settings › Synchronization und klicke auf Login.',
      'Wähle gpodder.net und gib den Namen und das App-Passwort ein.',
      'Wähle Use custom server und gib als Hostname die Serveradresse ein.',
      'Klicke auf Create Device und beantworte die nächste Frage mit OK.',
    ],
    gpodder: [
      'Öffne Preferences › gpodder.net.',
      'Wähle Synchronize subscriptions and episode actions.',
      'Gib Serveradresse, Namen, App-Passwort und einen beliebigen Gerätenamen ein.',
      'Klicke nicht auf Upload local subscriptions: Das ersetzt die Podcasts auf dem Server.',
    ],
    'music-assistant': [
      'Öffne Settings › Providers und füge gPodder hinzu.',
      'Wähle gpodder / opodsync server als Verbindung.',
      'Gib die Serveradresse als gPodder Service URL ein.',
      'Gib den Namen, das App-Passwort und eine beliebige Device ID ein.',
    ],
    cardo: [
      'Wähle in den Einstellungen die Synchronisation mit Nextcloud.',
      'Gib die Serveradresse ein und verbinde dich.',
      'Ein Browser öffnet sich. Melde dich an und erlaube Cardo den Zugriff.',
    ],
    'gnome-podcasts': [
      'Gib in den Einstellungen zur Synchronisation die Serveradresse ein.',
      'Wähle die Anmeldung im Browser. Melde dich an und erlaube den Zugriff.',
    ],
    other: [
      'Suche in den Einstellungen der App nach gPodder, Nextcloud oder der Open Podcast API.',
      'Gib die Serveradresse ein.',
      'Bei Nextcloud öffnet sich ein Browser: Melde dich an und erlaube den Zugriff.',
      'Fragt die App nach Name und Passwort, gib den Namen und ein App-Passwort ein.',
    ],
    script: [
      'Sende das App-Passwort mit jeder Anfrage, als Authorization: Bearer.',
      'GET /v1/subscriptions liefert deine Podcasts. Die API ist unter /docs beschrieben.',
    ],
  },
  next: 'Erledigt',
  waitTitle: (app: string) => `Warten auf ${app}`,
  waitText: 'Diese Seite ändert sich, sobald die App zum ersten Mal synchronisiert hat.',
  waitHelp:
    'Es passiert nichts? Starte die Synchronisation in der App. Öffne dann auf dem Gerät der ' +
    'App die Serveradresse im Browser: So siehst du, ob das Gerät den Server erreicht.',
  check: 'Jetzt prüfen',
  backToSteps: 'Zurück zu den Schritten',
  connectedTitle: 'Verbunden',
  connectedText: (app: string, ago: string, podcasts?: number) =>
    `${app}: synchronisiert ${ago}` +
    `${podcasts ? `, ${plural(podcasts, 'Podcast', 'Podcasts')}` : ''}.`,
  noPodcasts:
    'Die App hat noch keine Podcasts gesendet. Diese Seite ändert sich, sobald sie ankommen.',
  podcasts: 'Deine Podcasts ansehen',
  another: 'Noch eine App verbinden',
};
