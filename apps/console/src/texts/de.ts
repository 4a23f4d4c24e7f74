import { frameTexts, numberFormatsFor } from '#ui';
import type { Texts } from './en.js';

const { count, plural } = numberFormatsFor('de');
const podcasts = (n: number) => plural(n, 'Podcast', 'Podcasts');

/** The German texts of the console. */
export const de: Texts = {
  ...frameTexts.de,
  close: 'Schließen',
  retry: 'Erneut versuchen',
  dismiss: 'Ausblenden',
  undo: 'Rückgängig',
  loading: 'Wird geladen …',
  notFound: 'Seite nicht gefunden',
  failed:
    'Der Server ist nicht erreichbar oder meldet einen Fehler. Versuche es später noch einmal.',
  offline:
    'Keine Verbindung zum Server. Deine Änderungen bleiben erhalten und werden später gesendet.',
  signInAgain: 'Anmelden',
  subscriptions: {
    title: 'Podcasts',
    lead: 'Auf allen Geräten gleich, die mit deinem Konto verbunden sind.',
    add: 'Feed-Adresse',
    addHint: 'Die RSS-Adresse oder Website eines Podcasts, zum Beispiel example.org/feed.xml',
    addSubmit: 'Hinzufügen',
    addInvalid: 'Das ist keine Feed-Adresse. Gib eine wie https://example.org/feed.xml ein.',
    search: 'Suchen',
    progress: (loaded, all) => `${count(loaded)} von ${count(all)} geladen`,
    show: 'Anzeigen',
    sort: 'Sortieren nach',
    byTime: 'Hinzugefügt',
    byTitle: 'Titel',
    byNewest: 'Neueste Folge',
    byListened: 'Zuletzt gehört',
    subscribed: 'Abonniert',
    unsubscribed: 'Abbestellt',
    list: 'Podcasts',
    count: podcasts,
    none: 'Noch keine Podcasts. Füge einen hinzu, importiere eine Liste oder verbinde eine App.',
    noneUnsubscribed: 'Keine abbestellten Podcasts.',
    noneFound: 'Keine Podcasts gefunden.',
    importLink: 'Eine Liste importieren (OPML)',
    manage: 'Verwalten',
    manageNamed: (name) => `${name} verwalten`,
    unsubscribe: 'Abbestellen',
    subscribe: 'Wieder abonnieren',
    rename: 'Titel',
    renameHint: 'Dein eigener Titel, auf allen deinen Geräten. Leer entfernt ihn.',
    renameSubmit: 'Titel ändern',
    move: 'Neue Feed-Adresse',
    moveHint: 'Für einen Podcast, der umgezogen ist. Dein Verlauf bleibt erhalten.',
    moveSubmit: 'Adresse ändern',
    delete: 'Löschen …',
    deleteText:
      'Das löscht den Podcast und seinen Verlauf auf allen deinen Geräten und lässt sich nicht ' +
      'rückgängig machen.',
    deleteSubmit: 'Endgültig löschen',
    pending: {
      add: 'wird hinzugefügt …',
      subscribe: 'wird abonniert …',
      unsubscribe: 'wird abbestellt …',
      rename: 'Titel wird geändert …',
      move: 'Adresse wird geändert …',
      delete: 'wird gelöscht …',
    },
    waiting: 'wartet auf eine Verbindung',
    done: {
      add: (name) => `${name} ist abonniert`,
      subscribe: (name) => `${name} ist abonniert`,
      unsubscribe: (name) => `${name} ist abbestellt`,
      rename: (name) => `Umbenannt in ${name}`,
      move: (name) => `Umgezogen zu ${name}`,
      delete: (name) => `${name} ist gelöscht`,
    },
  },
  outcomes: {
    invalid_url: 'Die Adresse ist ungültig.',
    invalid_guid: 'Die Kennung des Podcasts ist ungültig.',
    invalid_value: 'Der Eintrag ist ungültig.',
    missing_identifier: 'Der Eintrag ist ungültig.',
    unknown_subscription: 'Diesen Podcast gibt es nicht mehr.',
    wrong_subscription: 'Der Eintrag gehört zu einem anderen Podcast.',
    feed_url_taken: 'Ein anderer deiner Podcasts hat diese Adresse schon.',
    superseded: 'Ein anderes Gerät hat diesen Podcast inzwischen geändert.',
    limit_reached:
      'Eine Obergrenze dieses Servers ist erreicht. Bitte seinen Betreiber, sie zu erhöhen.',
    failed: 'Der Server hat die Änderung abgelehnt.',
  },
  history: {
    title: frameTexts.de.nav.history,
    lead: 'Folgen aus deinen Apps, die neuesten zuerst.',
    list: 'Folgen',
    count: (n) => plural(n, 'Folge', 'Folgen'),
    none: 'Noch keine Folgen. Sie erscheinen hier, sobald eine verbundene App sie abspielt.',
    untitled: 'Folge ohne Titel',
    played: 'Gehört',
    favorite: 'Favorit',
    favorites: 'Favoriten',
    podcast: 'Podcast',
    allPodcasts: 'Alle Podcasts',
    reset: 'Zurück zum Anfang',
    openPage: 'Seite öffnen',
    done: {
      played: 'Als gehört markiert',
      notPlayed: 'Als nicht gehört markiert',
      favorite: 'Zu den Favoriten hinzugefügt',
      notFavorite: 'Aus den Favoriten entfernt',
      reset: 'Auf den Anfang gesetzt',
    },
    superseded: 'Ein anderes Gerät hat diese Folge inzwischen geändert.',
    isNew: 'Neu',
    at: (position) => `bei ${position}`,
    of: (position, duration) => `${position} von ${duration}`,
    position: 'Position',
    unknownFeed: 'gelöschter Podcast',
    end: 'Ende der Liste',
  },
  preview: {
    label: 'Podcast unter dieser Adresse',
    loading: 'Der Server liest den Feed …',
    isSubscribed: (name) => `${name} ist schon abonniert.`,
    status: {
      not_a_feed: 'Diese Seite ist kein Feed.',
      private: 'Dieser Feed ist nur für dich bestimmt. Der Server liest ihn nicht.',
      refused: 'Der Server verbindet sich nicht mit dieser Adresse.',
      failed: 'Der Server konnte diesen Feed nicht lesen.',
    },
    alternates: 'Sie verweist auf diese Feeds:',
    subscribe: 'Abonnieren',
    subscribeAnyway: 'Trotzdem abonnieren',
  },
  podcast: {
    untitled: 'Podcast ohne Titel',
    status: {
      pending: 'Der Server liest den Feed gerade.',
      failing: 'Der Server kann den Feed seit mindestens drei Tagen nicht lesen.',
      gone:
        'Der Anbieter hat diesen Feed eingestellt, oder der Server kann ihn seit sechs Monaten ' +
        'nicht lesen.',
      refused: 'Der Server verbindet sich nicht mit der Adresse dieses Feeds.',
      private: 'Dieser Feed ist nur für dich bestimmt. Der Server liest ihn nicht.',
    },
    website: 'Website',
    episodes: 'Folgen',
    all: 'Alle Folgen',
    started: 'Angefangen',
    byDate: 'Erscheinungsdatum',
    none: 'Noch keine Folgen.',
    noneFound: 'Keine Folge passt zu diesem Filter.',
    back: 'Alle Podcasts',
  },
  newest: {
    title: frameTexts.de.nav.new,
    lead: 'Die neuesten Folgen deiner Podcasts.',
    none: 'Noch keine Folgen. Sie erscheinen hier, sobald der Server deine Feeds gelesen hat.',
    noFeeds: 'Dieser Server liest keine Feeds. Deshalb zeigt er keine neuen Folgen.',
  },
  statistics: {
    title: frameTexts.de.nav.statistics,
    lead:
      'Gezählt aus dem letzten Stand jeder Folge: die Position, oder die ganze Dauer, wenn sie ' +
      'gehört ist, zur Zeit der letzten Änderung. Zweimal gehörte Folgen zählen einmal; ' +
      'gehörte ohne Dauer und Position zählen nicht.',
    loading: 'Folgen werden geladen',
    period: 'Zeitraum',
    periods: { weeks: 'Letzte 12 Wochen', year: 'Letzte 52 Wochen', all: 'Alles' },
    views: { plot: 'Diagramm', table: 'Tabelle' },
    sum: (hours) => `${hours} insgesamt`,
    none: 'In diesem Zeitraum nichts gehört.',
    week: 'Woche ab',
    weekFrom: (date) => `Woche ab ${date}`,
    month: 'Monat',
    hours: 'Gehört',
    byWeek: 'Gehört nach Wochen',
    byMonth: 'Gehört nach Monaten',
    uncounted: (n) =>
      n === 1
        ? '1 gehörte Folge zählt nicht, weil ihre Dauer unbekannt ist.'
        : `${count(n)} gehörte Folgen zählen nicht, weil ihre Dauer unbekannt ist.`,
    bound: (n) => `Nur die ${count(n)} zuletzt hinzugefügten Folgen zählen.`,
    podcasts: (n) => (n === 1 ? 'Meistgehörter Podcast' : `Die ${n} meistgehörten Podcasts`),
  },
  data: {
    title: frameTexts.de.nav.data,
    importTitle: 'Podcasts importieren',
    importText: 'Aus einer OPML-Datei, die eine andere App exportiert hat. Dein Browser liest sie.',
    file: 'OPML-Datei',
    invalidFile: 'Das ist keine OPML-Datei, oder sie ist beschädigt.',
    noFeeds: 'Die Datei enthält keine Podcasts.',
    tooLarge: 'Die Datei ist größer als 10 MB, oder ihre Ordner sind zu tief verschachtelt.',
    found: (n) => `${podcasts(n)} gefunden.`,
    skipped: (n) =>
      n === 1
        ? '1 Eintrag wird übersprungen: Er hat keine Feed-Adresse oder ist doppelt.'
        : `${count(n)} Einträge werden übersprungen: Feed-Adresse fehlt oder Eintrag doppelt.`,
    start: (n) => `${podcasts(n)} importieren`,
    progress: (n, all) => `${count(n)} von ${count(all)}`,
    importing: 'Wird importiert',
    stop: 'Anhalten',
    stopped: (n, all) => `Nach ${count(n)} von ${count(all)} angehalten.`,
    finished: (n, failed) =>
      `${podcasts(n)} importiert${failed > 0 ? `, ${count(failed)} fehlgeschlagen` : ''}.`,
    results: 'Ergebnisse des Imports',
    imported: 'Importiert',
    another: 'Eine weitere Datei importieren',
    serverTitle: 'Von einem anderen Server importieren',
    serverText:
      'Podcasts, Positionen und Favoriten von einem Server mit der gpodder-API oder einer ' +
      'Nextcloud. Neuere Änderungen auf diesem Server bleiben erhalten.',
    serverOff:
      'Dieser Server verbindet sich nicht mit anderen Servern. Wer ihn betreibt, kann dein Konto ' +
      'mit dem Befehl podcast-sync import übernehmen.',
    kind: 'Server',
    kinds: {
      gpodder: 'gpodder.net',
      nextcloud: 'Nextcloud',
      other: 'oPodSync oder ein anderer Server',
    },
    source: 'Adresse des Servers',
    sourceHint: 'Wie in deiner Podcast-App, etwa cloud.example.org',
    sourceInvalid: 'Das ist keine Adresse eines Servers. Gib eine ein wie cloud.example.org.',
    login: 'Dein Name dort',
    loginMissing: 'Gib deinen Namen auf dem anderen Server ein.',
    password: 'Dein Passwort dort',
    passwordHint: 'Es dient nur diesem Import und wird danach gelöscht.',
    nextcloudHint:
      'Am besten ein App-Passwort: In Nextcloud unter Einstellungen, Sicherheit anlegen. Es ' +
      'dient nur diesem Import und wird danach gelöscht.',
    passwordMissing: 'Gib ein Passwort mit höchstens 256 Bytes ein.',
    serverStart: 'Import starten',
    serverContinue: 'Import fortsetzen',
    busy: 'Es laufen zu viele Importe. Versuche es in einer Minute noch einmal.',
    reading: (host) => `Import von ${host}`,
    counts: (subscriptions, actions, favorites) =>
      `${podcasts(subscriptions)}, ${plural(actions, 'Aktion', 'Aktionen')} zu Folgen, ` +
      plural(favorites, 'Favorit', 'Favoriten'),
    serverStates: {
      finished: (host) => `Der Import von ${host} ist fertig.`,
      stopped: (host) => `Der Import von ${host} wurde angehalten.`,
      failed: (host) => `Der Import von ${host} ist fehlgeschlagen.`,
    },
    faults: {
      credentials: 'Der andere Server lehnt Namen oder Passwort ab. Prüfe beide.',
      unsupported:
        'Unter dieser Adresse gibt es keine gpodder-API und kein Nextcloud gpoddersync. Nimm die ' +
        'Adresse aus deiner Podcast-App.',
      unreachable:
        'Der andere Server ist nicht erreichbar. Prüfe die Adresse, oder versuche es später.',
      refused:
        'Dieser Server verbindet sich nicht mit dieser Adresse. Sie muss öffentlich sein und ' +
        'https haben; wer den Server betreibt, kann andere mit FEEDS_ALLOW erlauben oder den ' +
        'Befehl podcast-sync import nutzen.',
      redirected:
        'Der andere Server leitet auf eine andere Adresse um. Öffne ihn im Browser, und gib die ' +
        'Adresse ein, die dort steht.',
      timeout: 'Der andere Server war zu langsam. Gib dein Passwort noch einmal ein.',
      too_large: 'Das Konto ist zu groß. Wer den Server betreibt, kann podcast-sync import nutzen.',
      interrupted: 'Dieser Server wurde neu gestartet. Gib dein Passwort noch einmal ein.',
      internal: 'Auf diesem Server ist ein Fehler aufgetreten. Versuche es später.',
    },
    skippedEntries: (n) => plural(n, 'übersprungener Eintrag', 'übersprungene Einträge'),
    entryKinds: {
      device: 'Gerät',
      answer: 'Antwort',
      feed: 'Podcast',
      action: 'Aktion',
      favourite: 'Favorit',
    },
    reasons: {
      not_an_object: 'Der Eintrag ist beschädigt.',
      missing_key: 'Der Eintrag ist unvollständig.',
      unknown_action: 'Die Art der Aktion ist unbekannt.',
      unusable_podcast: 'Der Podcast hat keine gültige Adresse.',
      unusable_episode: 'Die Folge hat keine gültige Adresse.',
      unknown_subscription: 'Der Podcast wurde auf diesem Server gelöscht.',
      refused: 'Dieser Server hat den Eintrag abgelehnt.',
      no_id: 'Das Gerät hat keine Kennung.',
      no_list: 'Das Gerät hat keine Liste von Podcasts.',
      not_a_list: 'Die Antwort ist keine Liste.',
    },
    exportTitle: 'Podcasts exportieren',
    exportText: 'Eine OPML-Datei, die andere Apps importieren können.',
    exportSubmit: 'OPML herunterladen',
    exported: 'Die Datei wurde heruntergeladen.',
    allTitle: 'Alle Daten exportieren',
    allText:
      'Alle Daten über dich auf diesem Server, als JSON-Datei. Vorher musst du dich vielleicht ' +
      'neu anmelden.',
    allSubmit: 'Alle Daten herunterladen',
    eraseTitle: 'Konto löschen',
    eraseText:
      'Löscht dein Konto und alle deine Daten endgültig. Die nächste Seite fragt noch einmal nach.',
    eraseLink: 'Konto löschen …',
    accessTitle: 'Apps und Geräte',
    accessText: 'Dein Konto zeigt, welche Apps, App-Passwörter, Geräte und Browser Zugang haben.',
    accessLink: 'Dein Konto öffnen',
  },
};
