/** Maximum bytes of each kind of text, in UTF-8 (docs/reference/episodes.md, "Texts"). */
export const textLimits = { url: 4_096, episodeGuid: 2_048, title: 2_048 } as const;

/** Limits of one write of `load` (about 50 ms): entries; bytes, but only for several entries. */
export const chunkLimits = { entries: 1_000, bytes: 1_024 * 1_024 } as const;

/** Default maximum bytes of an answer (docs/reference/episodes.md, "Size"). */
export const defaultAnswerBytes = 4 * 1_024 * 1_024;

/** Limits of settings: characters of a key; keys and JSON bytes of an owner; bytes of a user. */
export const settingLimits = {
  key: 255,
  keys: 500,
  scopeBytes: 65_536,
  userBytes: 4 * 1_048_576,
} as const;
