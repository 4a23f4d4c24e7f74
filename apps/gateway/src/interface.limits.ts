import { defaultAnswerBytes, textLimits } from '#contracts';

// Constants and no settings, as docs/interface.md says them: clients are written for these numbers.

/** Entries in one batch of subscriptions: a large list in a few requests, and their verdicts fit beside the URLs. */
export const maxSubscriptionEntries = 1_000;

/** Entries in one batch of episodes: with the longest texts that there may be, their answer is below its limit. */
export const maxEpisodeEntries = 250;

/** Rows on one page: the same holds for a page of episodes. */
export const maxPerPage = 250;

/** Bytes of one answer: half of what the transport carries in a reply. A page ends before the row that would not fit. */
export const largestAnswer = defaultAnswerBytes;

/** Bytes of the largest episode in an answer, escapes aside: its texts at their limits; names, times and statuses. */
export const episodeBytes = 2 * textLimits.url + textLimits.episodeGuid + textLimits.title + 1_024;

/** Bytes that the verdict on a subscription adds to its URL, which came with the request. */
const subscribedBytes = 400;

/** Bytes of the largest body that may be allowed: the answer to a batch of subscriptions repeats it. */
export const largestBody = largestAnswer - maxSubscriptionEntries * subscribedBytes;
