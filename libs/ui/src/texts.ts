/** The languages of the site, English first: it is the default. */
export const languages = ['en', 'de'] as const;

/** A language of the site. */
export type Language = (typeof languages)[number];

/** How a language writes numbers. */
export interface Numbers {
  /** Returns a whole number with its thousands grouped. */
  count(n: number): string;
  /** Returns a number with its noun: `1 podcast`, `1,200 podcasts`. */
  plural(n: number, one: string, many: string): string;
}

/** Returns how a language writes numbers, and nouns after them. */
export function numbersOf(language: Language): Numbers {
  const count = (n: number) => n.toLocaleString(language);
  return { count, plural: (n, one, many) => `${count(n)} ${n === 1 ? one : many}` };
}

/** Texts of the frame around each page. */
export interface FrameTexts {
  readonly product: string;
  readonly skip: string;
  readonly nav: {
    /** The name of the navigation itself, for screen readers. */
    readonly label: string;
    readonly podcasts: string;
    readonly listened: string;
    readonly data: string;
    readonly account: string;
  };
  readonly signOut: string;
  readonly cancel: string;
}

/** The texts of the frame in each language. The texts of an app extend them. */
export const frameTexts: Readonly<Record<Language, FrameTexts>> = {
  en: {
    product: 'Podcast Sync',
    skip: 'Skip to content',
    nav: {
      label: 'Pages',
      podcasts: 'Podcasts',
      listened: 'Listened to',
      data: 'Import and export',
      account: 'Account',
    },
    signOut: 'Sign out',
    cancel: 'Cancel',
  },
  de: {
    product: 'Podcast Sync',
    skip: 'Zum Inhalt springen',
    nav: {
      label: 'Seiten',
      podcasts: 'Podcasts',
      listened: 'Gehört',
      data: 'Import und Export',
      account: 'Konto',
    },
    signOut: 'Abmelden',
    cancel: 'Abbrechen',
  },
};
