import { numberFormatsFor } from '#ui';
import type { accountTexts as english } from './account.en.js';

const { plural } = numberFormatsFor('de');

/** German texts of pages for signed-in users. */
export const accountTexts: typeof english = {
  home: {
    hello: (name) => `Hallo, ${name}`,
    lead: 'Sieh, was Zugang zu deinen Podcasts hat und wie dein Konto geschützt ist.',
    done: 'Gespeichert.',
    apps: 'Apps',
    podcasts: (count) => `${plural(count, 'Podcast', 'Podcasts')}, in allen Apps gleich.`,
    synced: 'Synchronisiert',
    neverSynced: 'Noch nicht synchronisiert',
    appsLead: 'Apps mit Zugang zu deinem Konto. Eine entfernte App ist sofort abgemeldet.',
    noApps: 'Noch keine App.',
    since: 'Verbunden',
    lastUsed: 'Zuletzt benutzt',
    neverUsed: 'Nie benutzt',
    remove: 'Entfernen',
    removeNamed: (name) => `${name} entfernen`,
    connectDevice: 'Fernseher, Auto oder Terminal mit einem Code verbinden',
    appPasswords: 'App-Passwörter',
    appPasswordsLead:
      'Für Skripte und andere Programme. Du kannst jedes App-Passwort einzeln widerrufen.',
    noAppPasswords: 'Noch kein App-Passwort.',
    newAppPassword: 'Neues App-Passwort',
    revoke: 'Widerrufen',
    revokeNamed: (name) => `${name} widerrufen`,
    created: 'Angelegt',
    expires: 'Läuft ab',
    neverExpires: 'läuft nicht ab',
    expired: 'abgelaufen',
    suspended: 'gesperrt',
    suspendedText:
      'Dein Passwort wurde zurückgesetzt oder ein Wiederherstellungscode benutzt. ' +
      'Deshalb sind App-Passwörter gesperrt.',
    suspendedLink: 'Wähle, welche App-Passwörter du behältst',
    mayRead: 'kann lesen',
    mayWrite: 'kann lesen und ändern',
    mayOnlyWrite: 'kann nur ändern',
    devices: 'Geräte',
    devicesLead:
      'Namen, die Apps deinen Geräten gegeben haben. Ein vergessenes Gerät erscheint wieder, ' +
      'sobald es synchronisiert.',
    forget: 'Vergessen',
    forgetNamed: (name) => `${name} vergessen`,
    sessions: 'Angemeldete Browser',
    sessionsLead:
      'Browser, die bei deinem Konto angemeldet sind. Beende Anmeldungen, die du nicht kennst, ' +
      'und ändere dann dein Passwort.',
    thisBrowser: 'dieser Browser',
    signedIn: 'Angemeldet',
    end: 'Beenden',
    endNamed: (name) => `${name} beenden`,
    endOthers: 'Alle anderen Anmeldungen beenden',
    unknownBrowser: 'Unbekannter Browser',
    browserOn: (browser, system) => `${browser} auf ${system}`,
    notices: 'Letzte Änderungen',
    noticesLead:
      'Erkennst du eine Änderung nicht, beende unbekannte Anmeldungen, ' +
      'entferne unbekannte Apps und ändere dein Passwort.',
    security: 'Anmeldung und Sicherheit',
    password: 'Passwort',
    passwordText: 'Ändere es, wenn jemand anderes es kennen könnte.',
    changePassword: 'Passwort ändern',
    totp: 'Zweiter Schritt',
    totpOn: 'An. Beim Anmelden wird ein Code aus deiner Authenticator-App verlangt.',
    totpOff: 'Aus. Mit einem zweiten Schritt genügt ein gestohlenes Passwort allein nicht.',
    totpSetUp: 'Einrichten',
    totpRemove: 'Ausschalten',
    totpPasskeys: 'Keine Authenticator-App. Deine Passkeys sind der zweite Schritt.',
    passkeys: 'Passkeys',
    passkeysNone: 'Keiner. Mit einem Passkey meldest du dich ohne Passwort an.',
    passkeyCount: (count) => `${plural(count, 'Passkey', 'Passkeys')}.`,
    passkeysAdd: 'Hinzufügen',
    passkeysManage: 'Verwalten',
    recovery: 'Wiederherstellungscodes',
    recoveryNone:
      'Keine. Ein Wiederherstellungscode ersetzt Passwort oder Authenticator-App, ' +
      'wenn du sie verloren hast.',
    recoveryLeft: (count) => `Noch ${plural(count, 'Code', 'Codes')}.`,
    recoveryMake: 'Neue Codes erstellen',
    email: 'E-Mail',
    emailNone:
      'Keine. Mit einer E-Mail-Adresse kannst du ein verlorenes Passwort selbst zurücksetzen.',
    emailChange: 'E-Mail ändern',
    data: 'Deine Daten',
    export: 'Export',
    exportText: 'Eine Datei mit allen deinen Daten.',
    exportSubmit: 'Herunterladen',
    erase: 'Löschen',
    eraseText: 'Löscht dein Konto und alles darin endgültig.',
    eraseLink: 'Konto löschen',
    provider: (host) =>
      `Du meldest dich über ${host} an. Dort liegen auch Passwort und zweiter Schritt.`,
  },
  changePassword: {
    title: 'Passwort ändern',
    lead:
      'Alle anderen Browser und die Apps, denen du Zugang erlaubt hast, werden abgemeldet. ' +
      'App-Passwörter gelten weiter: Widerrufe die, die du nicht kennst.',
    current: 'Jetziges Passwort',
    submit: 'Passwort ändern',
  },
  changeEmail: {
    title: 'E-Mail ändern',
    lead: 'Wir senden einen Link an die neue Adresse. Öffne ihn, um die Adresse zu bestätigen.',
    hint:
      'Sie dient dazu, ein verlorenes Passwort zurückzusetzen und dir Änderungen an deinem Konto ' +
      'zu melden.',
    invalid: 'Das ist keine E-Mail-Adresse.',
    remove: 'Adresse entfernen',
    submit: 'Link senden',
    sentTitle: 'Prüfe dein Postfach',
    sentText: (email) => `Ein Link ist unterwegs an ${email}. Er gilt einen Tag.`,
  },
  totp: {
    title: 'Zweiten Schritt einrichten',
    lead:
      'Beim Anmelden wird dann ein Code aus einer Authenticator-App auf deinem Telefon ' +
      'verlangt.',
    scan: 'Scanne diesen Code mit deiner Authenticator-App.',
    qr: 'QR-Code mit dem Schlüssel für deine Authenticator-App',
    open: 'In einer App auf diesem Gerät öffnen',
    key: 'Oder gib diesen Schlüssel von Hand ein:',
    enter: 'Gib dann die sechs Ziffern ein, die die App jetzt zeigt.',
    submit: 'Einschalten',
    refused: 'Dieser Code ist falsch. Gib den Code ein, den die App jetzt zeigt.',
    offTitle: 'Zweiten Schritt ausschalten',
    offLead:
      'Ohne Passkey genügt dann dein Passwort zum Anmelden. ' +
      'Gib zur Bestätigung einen Code ein.',
    offSubmit: 'Ausschalten',
  },
  passkeys: {
    title: 'Passkeys',
    lead:
      'Mit einem Passkey meldest du dich ohne Passwort an: mit Fingerabdruck, Gesicht oder PIN. ' +
      'Meldest du dich mit dem Passwort an, ist ein Passkey der zweite Schritt.',
    none: 'Noch kein Passkey.',
    label: 'Name des neuen Passkeys',
    submit: 'Passkey hinzufügen',
    missing: 'Einen Passkey fügst du mit JavaScript in einem Browser hinzu, der Passkeys kennt.',
    noAddress:
      'Passkeys brauchen eine Adresse mit Domainnamen und HTTPS. Diese Seite hat keine solche.',
    failed: 'Der Browser hat keinen Passkey geliefert. Versuche es noch einmal.',
    refused: 'Der Passkey wurde nicht angenommen. Versuche es noch einmal.',
    full: 'Dein Konto hat die Höchstzahl an Passkeys. Entferne zuerst einen.',
    suspended:
      'Dein Passwort wurde zurückgesetzt oder ein Wiederherstellungscode benutzt. Deshalb sind ' +
      'Passkeys gesperrt: Sie gelten nur als zweiter Schritt. Benutzt du einen nach dem ' +
      'Passwort, gilt er wieder allein.',
  },
  recovery: {
    title: 'Wiederherstellungscodes',
    lead:
      'Jeder Code ersetzt einmal Passwort oder Authenticator-App. ' +
      'Neue Codes ersetzen die bisherigen.',
    submit: 'Neue Codes erstellen',
    shownTitle: 'Deine Wiederherstellungscodes',
    shownLead:
      'Speichere sie in einem Passwortmanager oder druck sie aus. ' +
      'Sie werden nicht noch einmal gezeigt.',
    list: 'Zehn Wiederherstellungscodes',
    kept: 'Ich habe sie aufbewahrt',
  },
  appPassword: {
    title: 'Neues App-Passwort',
    lead: 'Benutze für jede App ein eigenes App-Passwort. Dann kannst du jedes einzeln widerrufen.',
    label: 'Wofür ist es?',
    labelHint: 'Ein Name, an dem du es erkennst, etwa „AntennaPod auf meinem Telefon“.',
    labelInvalid:
      'Gib einen Namen mit 1 bis 64 Zeichen ein, darunter ein Buchstabe oder eine Ziffer.',
    rights: 'Zugriff',
    rightsOf: { all: 'lesen und ändern', read: 'nur lesen' },
    expires: 'Es läuft ab',
    expiry: { never: 'nie', month: 'nach 30 Tagen', year: 'nach einem Jahr' },
    submit: 'App-Passwort anlegen',
    shownTitle: 'Dein neues App-Passwort',
    shownLead: (label) => `Für „${label}“. Kopier es jetzt: Es wird nicht noch einmal gezeigt.`,
    server: 'Server',
    name: 'Name',
    secret: 'App-Passwort',
    bearer: 'Skripte senden es als Bearer-Token.',
    done: 'Fertig',
    tooMany: 'Dein Konto hat die Höchstzahl an App-Passwörtern. Widerrufe zuerst eins.',
  },
  keepAppPasswords: {
    title: 'App-Passwörter behalten?',
    lead:
      'Dein Passwort wurde zurückgesetzt oder ein Wiederherstellungscode benutzt. Deshalb sind ' +
      'App-Passwörter gesperrt. Kreuze die App-Passwörter deiner eigenen Apps an. ' +
      'Alle anderen gesperrten App-Passwörter werden gelöscht.',
    legend: 'Diese App-Passwörter behalten',
  },
  erase: {
    title: 'Konto löschen',
    lead:
      'Das löscht dein Konto, Abos, Hörstände, Apps und App-Passwörter endgültig. ' +
      'Niemand kann sie wiederherstellen.',
    exportFirst: 'Vielleicht möchtest du deine Daten vorher exportieren.',
    confirm: (name) => `Gib deinen Namen (${name}) ein, um fortzufahren`,
    wrongName: 'Der Name stimmt nicht überein. Gib ihn genau so ein, wie er angezeigt wird.',
    submit: 'Alles löschen',
    keep: 'Konto behalten',
    doneTitle: 'Dein Konto wird gelöscht',
    doneText: 'Du bist überall abgemeldet. Das Löschen deiner Daten dauert ein paar Minuten.',
  },
};
