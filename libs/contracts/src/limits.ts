/** The longest text of each kind, in bytes of UTF-8 (docs/reference/interface.md, "Texts"). */
export const textLimits = { url: 4_096, episodeGuid: 2_048, title: 2_048 } as const;

/**
 * What the commands that load data send to a service at a time: entries, and bytes of their JSON unless it is one entry.
 * A service works on them for about 50 ms.
 */
export const chunkLimits = { entries: 1_000, bytes: 1_024 * 1_024 } as const;

/** The most bytes of one answer where the caller does not say otherwise (docs/reference/interface.md, "Size"). */
export const defaultAnswerBytes = 4 * 1_024 * 1_024;

/** What may be kept of settings: characters of a key, keys and bytes of JSON of one scope, bytes of a user. */
export const settingLimits = { key: 255, keys: 500, scopeBytes: 65_536, userBytes: 4 * 1_048_576 } as const;
