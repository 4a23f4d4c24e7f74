/** The languages of the site. The first one is the default. */
export const languages = ['en', 'de'] as const;

/** A language of the site. */
export type Language = (typeof languages)[number];

/** Returns format functions: `count` groups thousands (`1,200`), `plural` adds a noun. */
export function numberFormatsFor(language: Language) {
  const count = (value: number) => value.toLocaleString(language);
  return {
    count,
    plural: (n: number, one: string, many: string) => `${count(n)} ${n === 1 ? one : many}`,
  };
}

const en = {
  product: 'Podcast Sync',
  skip: 'Skip to content',
  nav: {
    /** The accessible name of the navigation. */
    label: 'Pages',
    podcasts: 'Podcasts',
    new: 'New',
    history: 'History',
    statistics: 'Statistics',
    data: 'Import and export',
    connect: 'Connect an app',
    account: 'Account',
  },
  signOut: 'Sign out',
  sessionEnded:
    'You were signed out: in another window, on another device or after a long pause. ' +
    'Sign in again to continue.',
  cancel: 'Cancel',
};

/** Texts of the frame around each page: header and common buttons. */
export type FrameTexts = typeof en;

const de: FrameTexts = {
  product: 'Podcast Sync',
  skip: 'Zum Inhalt springen',
  nav: {
    label: 'Seiten',
    podcasts: 'Podcasts',
    new: 'Neu',
    history: 'Verlauf',
    statistics: 'Statistik',
    data: 'Import und Export',
    connect: 'App verbinden',
    account: 'Konto',
  },
  signOut: 'Abmelden',
  sessionEnded:
    'Du wurdest abgemeldet: in einem anderen Fenster, auf einem anderen Gerät oder nach langer ' +
    'Pause. Melde dich wieder an, um fortzufahren.',
  cancel: 'Abbrechen',
};

/** Texts of the frame by language. The account pages and the console add their own texts. */
export const frameTexts: Readonly<Record<Language, FrameTexts>> = { en, de };
