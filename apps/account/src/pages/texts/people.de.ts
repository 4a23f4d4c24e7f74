import type { peopleTexts as english } from './people.en.js';

/** German texts of the pages on which administrators manage accounts. */
export const peopleTexts: typeof english = {
  title: 'Personen',
  lead: 'Die Konten dieses Servers. Podcasts und Passwörter anderer kannst du nicht sehen.',
  homeLead: 'Du verwaltest diesen Server: Lade Personen ein und verwalte ihre Konten.',
  manage: 'Personen verwalten',
  new: 'Neue Konten',
  registration: {
    invite: 'Für ein neues Konto ist eine Einladung nötig (Einstellung REGISTRATION: invite).',
    open: 'Alle können ein Konto anlegen (Einstellung REGISTRATION: open).',
    closed: 'Niemand kann hier ein Konto anlegen (Einstellung REGISTRATION: closed).',
  },
  list: 'Konten',
  search: 'Nach Namen suchen',
  submitSearch: 'Suchen',
  none: 'Kein Konto passt.',
  all: 'Alle Konten',
  first: 'Erste Seite',
  next: 'Nächste Seite',
  noName: (id) => `Ohne Namen (${id})`,
  administrator: 'Administration',
  state: 'Zustand',
  states: { active: 'aktiv', disabled: 'gesperrt', 'no password': 'noch kein Passwort' },
  signedIn: 'Letzte Anmeldung',
  neverSignedIn: 'Nie angemeldet',
  never: 'nie',
  yes: 'ja',
  no: 'nein',
  id: 'Benutzer-ID',
  account: 'Konto',
  change: 'Änderungen',
  invite: 'Person einladen',
  inviteLead:
    'Mit einem Link legt eine Person ein Konto mit beliebigem Namen an. ' +
    'Er gilt einmal, sieben Tage lang.',
  inviteEmail: 'E-Mail (freiwillig)',
  inviteEmailHint: 'Wir senden den Link an diese Adresse. Ohne Adresse zeigt ihn diese Seite.',
  createLink: 'Link erstellen',
  sent: (email) => `Eine Einladung ist unterwegs an ${email}.`,
  invited: 'Deine Einladung',
  invitedLead: 'Sende den Link an eine Person. Er gilt einmal, sieben Tage lang.',
  link: 'Link',
  linkOnce: 'Kopier ihn jetzt: Er wird nur einmal gezeigt. Wer ihn hat, kann ihn benutzen.',
  qr: 'QR-Code mit dem Link',
  actions: {
    reset: 'Passwort verloren',
    disable: 'Sperren',
    enable: 'Entsperren',
    appoint: 'Administrationsrecht geben',
    dismiss: 'Administrationsrecht entziehen',
  },
  effects: {
    reset:
      'Ein Link, um ein neues Passwort zu wählen. Er gilt einmal, eine Stunde lang. ' +
      'Seine Benutzung meldet die Person überall ab; ein zweiter Schritt bleibt.',
    disable: 'Meldet die Person überall ab und weist alle Apps ab. Die Daten bleiben.',
    enable: 'Die Person kann sich wieder anmelden. Apps mit App-Passwort gehen wieder.',
    appoint: 'Die Person kann dann andere einladen, sperren und ihnen dieses Recht geben.',
    dismiss: 'Das Konto und seine Daten bleiben.',
  },
  buttons: {
    reset: 'Link erstellen',
    disable: 'Sperren',
    enable: 'Entsperren',
    appoint: 'Geben',
    dismiss: 'Entziehen',
  },
  done: {
    reset: (name) => `Gib diesen Link nur an ${name}.`,
    disable: (name) => `${name} ist gesperrt und überall abgemeldet.`,
    enable: (name) => `${name} ist entsperrt.`,
    appoint: (name) => `${name} verwaltet jetzt diesen Server.`,
    dismiss: (name) => `${name} verwaltet diesen Server nicht mehr.`,
  },
  problems: {
    last_administrator:
      'Nur dieses Konto hat das Administrationsrecht. Gib es zuerst einer anderen Person.',
    erased: 'Die Daten dieses Kontos werden gelöscht.',
    link: 'Dieses Konto ist gesperrt. Entsperr es zuerst.',
  },
};
