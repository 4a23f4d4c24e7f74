import { frameTexts, numberFormatsFor } from '#ui';
import { accountTexts } from './account.de.js';
import { connectTexts } from './connect.de.js';
import type { Texts } from './en.js';
import { peopleTexts } from './people.de.js';

const { plural } = numberFormatsFor('de');

/** German texts of the pages. */
export const de: Texts = {
  ...frameTexts.de,
  ...accountTexts,
  connect: connectTexts,
  people: peopleTexts,
  problem: 'Fehler',
  account: 'Dein Konto',
  back: 'Zurück',
  save: 'Speichern',
  later: 'Später',
  continue: 'Weiter',
  copy: 'Kopieren',
  copied: 'Kopiert',
  print: 'Drucken',
  download: 'Herunterladen',
  showPassword: 'Passwort zeigen',
  hidePassword: 'Passwort verbergen',

  name: 'Name',
  nameHint:
    'Bis zu 64 Buchstaben (A bis Z), Ziffern, Punkte, Binde- und Unterstriche, ohne Leerzeichen.',
  password: 'Passwort',
  newPassword: 'Neues Passwort',
  passwordHint:
    'Mindestens 12 Zeichen. ' +
    'Ein paar Wörter hintereinander sind leicht zu merken und schwer zu erraten.',
  emailAddress: 'E-Mail',
  code: 'Code',

  signIn: {
    title: 'Anmelden',
    again:
      'Melde dich zu deiner Sicherheit noch einmal an: ' +
      'Deine letzte Anmeldung ist einige Minuten her.',
    submit: 'Anmelden',
    forgot: 'Passwort vergessen?',
    register: 'Konto anlegen',
    signedOut: 'Du bist abgemeldet.',
    tooLate:
      'Die Anmeldung hat zu lange gedauert, oder dein Passwort wurde geändert. ' +
      'Melde dich noch einmal an.',
    newPassword: 'Dein Passwort wurde geändert. Melde dich mit dem neuen Passwort an.',
    refused: 'Der Name oder das Passwort ist falsch.',
    passkey: 'Mit einem Passkey anmelden',
    passkeyRefused:
      'Der Passkey wurde nicht angenommen. Versuche es noch einmal oder nimm dein Passwort.',
    provider: (host) => `Weiter mit ${host}`,
    providerText: (host) =>
      `Dieser Server nutzt die Konten von ${host}. Du meldest dich dort an und kommst dann zurück.`,
    chooseName: 'Namen wählen',
    chooseNameText:
      'Manche Apps fragen nach Name und Passwort. Du kannst den Namen später nicht ändern.',
  },
  secondStep: {
    title: 'Code eingeben',
    lead:
      'Dein Konto verlangt einen zweiten Schritt. ' +
      'Öffne deine Authenticator-App und gib die sechs Ziffern ein, die sie zeigt.',
    codeHint: 'Sechs Ziffern; der Code wechselt alle 30 Sekunden.',
    refused:
      'Dieser Code ist falsch oder wurde schon benutzt. Gib den Code ein, den die App jetzt zeigt.',
    lost: 'Kein Zugriff auf die App? Wiederherstellungscode benutzen',
    passkeyTitle: 'Benutze deinen Passkey',
    passkeyLead: 'Dein Konto verlangt einen zweiten Schritt. Bestätige ihn mit einem Passkey.',
    passkey: 'Passkey benutzen',
    passkeyMissing:
      'Dafür brauchst du JavaScript, einen Browser, der Passkeys kennt, und die Adresse, unter ' +
      'der du den Passkey hinzugefügt hast. Sonst benutze einen Wiederherstellungscode.',
    lostPasskey: 'Kein Zugriff auf deine Passkeys? Wiederherstellungscode benutzen',
    recoveryTitle: 'Wiederherstellungscode benutzen',
    recoveryLead:
      'Ein Wiederherstellungscode gilt einmal. ' +
      'Alle anderen Browser und alle Apps werden abgemeldet.',
    recoveryCode: 'Wiederherstellungscode',
    recoveryRefused: 'Dieser Wiederherstellungscode ist falsch oder wurde schon benutzt.',
  },
  register: {
    firstTitle: 'Willkommen',
    firstLead:
      'Dieser Server ist neu. Leg sein erstes Konto an. Damit kannst du später andere einladen.',
    inviteTitle: 'Du bist eingeladen',
    inviteLead:
      'Leg dein Konto auf diesem Server an. ' +
      'Deine Abos und Hörpositionen sind dann auf jedem Gerät gleich.',
    openTitle: 'Konto anlegen',
    openLead: 'Deine Abos und Hörpositionen sind dann auf jedem Gerät gleich.',
    submit: 'Konto anlegen',
    haveOne: 'Ich habe schon ein Konto',
    nameTaken: 'Dieser Name ist vergeben. Wähl einen anderen.',
    nameInvalid: 'Dieser Name ist zu lang oder enthält andere Zeichen.',
    closedTitle: 'Noch kein Konto?',
    closedText:
      'Die Administration dieses Servers kann dir eines geben. ' +
      'Ein neuer Server gibt beim Start den Link für das erste Konto aus.',
  },
  passwordProblem: {
    short: 'Dieses Passwort hat weniger als 12 Zeichen.',
    long: 'Dieses Passwort ist zu lang: höchstens 1.000 Byte.',
    common: 'Dieses Passwort ist leicht zu erraten. Wähl ein anderes.',
    wrong: 'Das ist nicht dein Passwort.',
  },
  forgot: {
    title: 'Neues Passwort setzen',
    lead:
      'Gib deinen Namen ein. Hat das Konto eine bestätigte E-Mail-Adresse, senden wir dorthin ' +
      'einen Link, der eine Stunde gilt.',
    submit: 'Link senden',
    sentTitle: 'Prüfe dein Postfach',
    sentText:
      'Gibt es ein Konto mit diesem Namen und einer bestätigten E-Mail-Adresse, ist ein Link ' +
      'unterwegs. Er gilt eine Stunde.',
    withoutMail:
      'Dieser Server verschickt keine Mails. ' +
      'Benutze einen Wiederherstellungscode oder bitte seine Administration um einen Link.',
    recovery: 'Wiederherstellungscode benutzen',
    resetLead: (name) =>
      `Wähl ein neues Passwort für ${name}. Alle Browser und Apps werden abgemeldet.`,
    resetSubmit: 'Passwort setzen',
    refused: 'Der Name oder der Wiederherstellungscode ist falsch.',
  },
  verify: {
    title: 'E-Mail bestätigen',
    lead: (email) => `Gehört ${email} dir?`,
    submit: 'Ja, bestätigen',
    doneTitle: 'Bestätigt',
    doneText: 'Deine E-Mail-Adresse ist bestätigt.',
  },
  link: {
    goneTitle: 'Dieser Link gilt nicht mehr',
    goneText:
      'Der Link wurde schon benutzt, ist abgelaufen oder unvollständig. Hast du ihn benutzt, ' +
      'melde dich an. Sonst bitte um einen neuen Link.',
    appTitle: 'Diese Anfrage ist beendet',
    appText:
      'Die Anfrage wurde schon beantwortet oder ist abgelaufen. Geh zu deiner App zurück. ' +
      'Ist die App nicht verbunden, starte dort die Anmeldung noch einmal: ' +
      'Sie öffnet eine neue Seite.',
  },
  approve: {
    title: 'Zugang erlauben?',
    lead: 'Eine App möchte Zugang zu deinem Konto. Sie nennt sich:',
    wants: 'Sie kann dann',
    scopes: {
      'read:subscriptions': 'sehen, was du abonniert und gehört hast',
      'write:subscriptions': 'ändern, was du abonniert und gehört hast',
    },
    until: 'Sie bleibt verbunden, bis du sie in deinem Konto entfernst.',
    details: 'Zu dieser Anfrage',
    signedInAs: 'Dein Konto',
    goesTo: 'Danach geht es zu',
    thisDevice: 'einer App auf diesem Gerät',
    from: 'Anfrage von',
    fromHere: (address) => `${address} (deine jetzige Adresse)`,
    asked: 'Angefragt',
    onlyIf: 'Erlaube diese Anfrage nur, wenn du sie gerade selbst gestartet hast.',
    deny: 'Ablehnen',
    allow: 'Erlauben',
    allowedTitle: 'Fertig',
    allowedText:
      'Die App darf jetzt synchronisieren. Geh zur App zurück; diese Seite kannst du schließen.',
    deniedTitle: 'Abgelehnt',
    deniedText: 'Die App hat keinen Zugang. Du kannst diese Seite schließen.',
  },
  device: {
    title: 'Gerät verbinden',
    lead: 'Gib den Code ein, den das Gerät zeigt.',
    code: 'Gerätecode',
    compare: 'Dein Gerät muss diesen Code zeigen',
    missing: 'Gib den Code ein, den das Gerät zeigt.',
    unknown: 'Dieser Code ist unbekannt oder abgelaufen. Prüfe den Code auf dem Gerät.',
  },
  forward: {
    title: 'Einen Moment …',
    text: (where) => `Du wirst zu ${where} weitergeleitet.`,
    link: 'Weiter',
    app: 'der App',
  },
  failure: {
    badRequest: [
      'Das hat nicht geklappt',
      'Die Anfrage ist unvollständig oder ungültig. Geh zurück und versuch es noch einmal.',
    ],
    crossSite: [
      'Das hat nicht geklappt',
      'Das Formular kam von einer anderen Website. ' +
        'Öffne diese Seite direkt und versuch es noch einmal.',
    ],
    forbidden: ['Kein Zugriff', 'Das ist dir nicht erlaubt.'],
    signedOut: [
      'Kein Zugriff',
      'Du bist nicht mehr angemeldet, oder dein Konto ist gesperrt. Melde dich neu an.',
    ],
    erased: ['Konto gelöscht', 'Dieses Konto wurde gelöscht und kann nicht mehr verwendet werden.'],
    notFound: ['Seite nicht gefunden', 'Dieser Server hat keine Seite mit dieser Adresse.'],
    methodNotAllowed: [
      'Das hat nicht geklappt',
      'Diese Seite nimmt Anfragen dieser Art nicht an. Geh zurück und versuch es noch einmal.',
    ],
    tooLarge: ['Anfrage zu groß', 'Die Anfrage ist größer, als der Server annimmt.'],
    tooMany: [
      'Bitte warte',
      'Aus deinem Netz kamen zu viele Anfragen. Apps versuchen es von allein noch einmal.',
    ],
    busy: ['Server ausgelastet', 'Der Server hat zu viele Anfragen.'],
    unavailable: [
      'Vorübergehend nicht erreichbar',
      'Ein Teil dieses Servers ist nicht erreichbar. Es geht nichts verloren. ' +
        'Versuch es bald noch einmal.',
    ],
    internal: [
      'Etwas ist schiefgegangen',
      'Der Server hat einen internen Fehler. Versuch es noch einmal. ' +
        'Tritt er wieder auf, wende dich an die Administration.',
    ],
    limited: {
      password:
        'Zu viele falsche Passwörter für diesen Namen oder aus deinem Netz. ' +
        'Ein Wiederherstellungscode geht weiterhin, ebenso ein Browser, in dem du schon ' +
        'angemeldet warst. Apps synchronisieren weiter.',
      change: 'Zu viele falsche Passwörter. Du bleibst angemeldet, Apps synchronisieren weiter.',
      code:
        'Zu viele falsche Codes. Ein Wiederherstellungscode geht weiterhin. ' +
        'Apps synchronisieren weiter.',
      recovery:
        'Zu viele falsche Wiederherstellungscodes. Passwort und Authenticator-App gehen ' +
        'weiterhin, und die Administration kann dir einen Link senden. ' +
        'Apps synchronisieren weiter.',
      link: 'Aus deinem Netz wurden zu viele Passwörter gesetzt. Der Link bleibt gültig.',
      registration:
        'Aus deinem Netz wurden zu viele Konten angelegt. Ein Einladungslink geht weiterhin.',
      mail: 'Es wurden zu viele Mails angefordert. Benutze den Link aus der letzten Mail.',
      export: 'Ein Export deiner Daten läuft schon. Warte, bis dieser Download beendet ist.',
    },
    app: (host) => `App, die die Anfrage gesendet hat: ${host}`,
    part: (name) => `Nicht erreichbar: ${name}.`,
    database: 'die Datenbank',
    retry: (seconds) =>
      seconds < 90
        ? `Versuch es in ${seconds} Sekunden noch einmal.`
        : `Versuch es in ${plural(Math.ceil(seconds / 60), 'Minute', 'Minuten')} noch einmal.`,
    request: 'ID dieser Anfrage, für die Administration:',
    home: 'Zu deinem Konto',
  },
};
