/** The longest text of each kind, in bytes of UTF-8 (docs/interface.md, "Texts"). */
export const textLimits = { url: 4_096, episodeGuid: 2_048, title: 2_048 } as const;

/** The most bytes of one answer where the caller does not say otherwise (docs/interface.md, "Size"). */
export const defaultAnswerBytes = 4 * 1_024 * 1_024;
