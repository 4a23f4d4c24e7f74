/** An app on the page "Connect an app". */
export interface ConnectableApp {
  /** Product name; empty if pages show a translated text instead, as for `other`. */
  readonly name: string;
  /** True if a person types an app password into the app. False if the app opens a sign-in page. */
  readonly needsAppPassword: boolean;
}

/** Apps with instructions. The key is the last segment of the path `/connect/:app`. */
export const connectableApps = {
  antennapod: { name: 'AntennaPod', needsAppPassword: false },
  kasts: { name: 'Kasts', needsAppPassword: true },
  gpodder: { name: 'gPodder', needsAppPassword: true },
  'music-assistant': { name: 'Music Assistant', needsAppPassword: true },
  cardo: { name: 'Cardo', needsAppPassword: false },
  'gnome-podcasts': { name: 'GNOME Podcasts', needsAppPassword: false },
  other: { name: '', needsAppPassword: true },
  script: { name: '', needsAppPassword: true },
} as const satisfies Record<string, ConnectableApp>;

/** A key of {@link connectableApps}. */
export type AppKey = keyof typeof connectableApps;

/** Returns true for a key of {@link connectableApps}. */
export const isAppKey = (key: string): key is AppKey => Object.hasOwn(connectableApps, key);
