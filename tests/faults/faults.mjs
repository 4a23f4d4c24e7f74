/**
 * Faults that are planted by hand, to measure what the tests find. Each one breaks a promise of
 * docs/ by a line or so.
 *
 * - `find` is source text that `file` has exactly once. `replace` is what the fault makes of it.
 * - `near` names the folders where tests of it are most likely. They run first.
 *
 * Where the source changes, a fault moves along with its promise: adjust `find`, and keep the id.
 */

const contracts = 'libs/contracts/src';
const database = 'libs/database/src';
const transport = 'libs/transport/src';
const subscription = 'apps/subscription/src';
const episode = 'apps/episode/src';
const deletion = 'apps/deletion-worker/src';
const gateway = 'apps/gateway/src';
const gpodder = 'apps/gpodder/src';
const account = 'apps/account/src';

/** Pure rules. */
const rules = [
  {
    // A guid with a new URL merges a podcast even though a guid was declared for it.
    id: 'same-though-declared',
    file: `${subscription}/subscribe.rules.ts`,
    find: 'isLive(other) && other !== match && other.declaredGuids === 0',
    replace: 'isLive(other) && other !== match',
    near: ['apps/subscription'],
  },
  {
    // A deleted subscription stands in the way of a live one.
    id: 'tombstone-in-the-way',
    file: `${subscription}/subscribe.rules.ts`,
    find: 'find(({ row }) => isLive(row)) ??',
    replace: 'find(({ row }) => row) ??',
    near: ['apps/subscription'],
  },
  {
    // A merge unsubscribes the one that stays.
    id: 'merge-unsubscribes',
    file: `${subscription}/update.rules.ts`,
    find: 'if (other.isSubscribed) row.isSubscribed = true;',
    replace: 'row.isSubscribed = other.isSubscribed;',
    near: ['apps/subscription'],
  },
  {
    // Of equal times unsubscribed wins.
    id: 'equal-times',
    file: `${contracts}/values.ts`,
    find: 'if (at === undefined || at > current.subscribedAt) return false;',
    replace: 'if (at === undefined || at >= current.subscribedAt) return false;',
    near: ['libs/contracts', 'apps/subscription', 'apps/deletion-worker'],
  },
  {
    // A time far ahead counts as five minutes after the arrival.
    id: 'clamped-ahead',
    file: `${contracts}/values.ts`,
    find: 'return { at: clamped ? instantOf(arrivedMs) : instant, clamped };',
    replace: 'return { at: clamped ? latest.instant : instant, clamped };',
    near: ['libs/contracts', 'apps/episode', 'apps/subscription'],
  },
  {
    // The derived guid is made of a URL that still has trailing slashes.
    id: 'guid-of-slashes',
    file: `${contracts}/feed-url.ts`,
    find: "while (schemelessUrl[end - 1] === '/') end -= 1;",
    replace: "if (schemelessUrl[end - 1] === '/') end -= 1;",
    near: ['libs/client'],
  },
  {
    // Of several episodes that match the one that came last is meant.
    id: 'latest-match',
    file: `${episode}/match.rules.ts`,
    find: '(!best || id < best.id)',
    replace: '(!best || id > best.id)',
    near: ['apps/episode'],
  },
  {
    // A time to the minute is compared to the second with one that has seconds.
    id: 'minutes-as-seconds',
    file: `${episode}/episode.rules.ts`,
    find: 'const byMinute = a.minuteForm || b.minuteForm;',
    replace: 'const byMinute = a.minuteForm && b.minuteForm;',
    near: ['apps/episode'],
  },
  {
    // A user with as many states as allowed can't change those that exist.
    id: 'quota-stops-known',
    file: `${episode}/upload.rules.ts`,
    find: 'if (!found && !episodes.allowsNewEpisode)',
    replace: 'if (!episodes.allowsNewEpisode)',
    near: ['apps/episode'],
  },
  {
    // A deletion is tried once more than allowed.
    id: 'one-attempt-more',
    file: `${deletion}/records/deletion.rules.ts`,
    find: "kind === 'transient' && attempts < maxAttempts",
    replace: "kind === 'transient' && attempts <= maxAttempts",
    near: ['apps/deletion-worker'],
  },
];

/** Statements and SQL functions. */
const sql = [
  {
    // A client that polled at the very stamp of a guid change is shown the guid before it.
    id: 'former-guid-border',
    file: `${subscription}/subscription-list.repository.ts`,
    find: 'f.subscription_id = r.id AND f.replaced > $2',
    replace: 'f.subscription_id = r.id AND f.replaced >= $2',
    near: ['apps/subscription'],
  },
  {
    // A poll returns again what changed exactly at `since`.
    id: 'since-not-strict',
    file: `${database}/listing.ts`,
    find: 'user_id = $1 AND ${changed} > $2 AND ${where}',
    replace: 'user_id = $1 AND ${changed} >= $2 AND ${where}',
    near: ['libs/database', 'apps/subscription', 'apps/episode'],
  },
  {
    // A page on the way back repeats the first row of the page that it came from.
    id: 'backward-border',
    file: `${database}/listing.ts`,
    find: "page('<', 'DESC')",
    replace: "page('<=', 'DESC')",
    near: ['libs/database', 'apps/subscription', 'apps/episode'],
  },
  {
    // A subscription is read by a guid that is another user's.
    id: 'any-user-by-guid',
    file: `${subscription}/subscription.repository.ts`,
    find:
      'ON s.user_id = $1 AND s.id = g.subscription_id\n' +
      '     WHERE g.user_id = $1 AND g.guid = $2',
    replace:
      'ON s.user_id = g.user_id AND s.id = g.subscription_id\n' +
      '     WHERE $1::uuid IS NOT NULL AND g.guid = $2',
    near: ['apps/subscription'],
  },
  {
    // Clients that identify feeds by URL do not receive a deletion.
    id: 'deletion-unflipped',
    file: `${deletion}/records/deletion.repository.ts`,
    find: 'flipped = CASE WHEN s.is_subscribed THEN $3::timestamptz ELSE s.flipped END',
    replace: 'flipped = s.flipped',
    near: ['apps/deletion-worker', 'apps/subscription', 'apps/gpodder'],
  },
  {
    // An upload gives episodes to a deleted subscription.
    id: 'episodes-of-tombstone',
    file: `${episode}/episode.sql.ts`,
    find: `n.guid = s."podcastGuid" AND n.is_live OFFSET 0`,
    replace: `n.guid = s."podcastGuid" OFFSET 0`,
    near: ['apps/episode'],
  },
  {
    // An erased user leaves the guids that subscriptions had before.
    id: 'erasure-leaves-a-table',
    file: `${deletion}/erasure/erasure.repository.ts`,
    find: "createPhase('subscription.former_guids', 'subscription_id', 'bigint'),",
    replace: '',
    near: ['apps/deletion-worker'],
  },
  {
    // No poll tells of the episodes that a merge moves.
    id: 'moved-unstamped',
    file: `${database}/migrations/status.sql.ts`,
    find: 'UPDATE episode.states s SET changed = p_stamp FROM moved',
    replace: 'UPDATE episode.states s SET changed = s.changed FROM moved',
    near: ['apps/episode', 'libs/database'],
  },
];

/** The users' clocks, the markers of requests, and writes that run once. */
const clock = [
  {
    // Two writes have the same stamp if the clock is ahead of the time of Postgres.
    id: 'clock-stands-still',
    file: `${database}/migrations/clock.sql.ts`,
    find: "(c.stamp AT TIME ZONE 'UTC' + interval '1 millisecond') AT TIME ZONE 'UTC'",
    replace: 'c.stamp',
    near: ['libs/database'],
  },
  {
    // A key that was used for another request gets the answer of that one.
    id: 'key-of-another-request',
    file: `${database}/database.ts`,
    find: "if (repeated && first.fingerprint !== fingerprint) throw new Failure('invalid');",
    replace: 'void first;',
    near: ['libs/database'],
  },
  {
    // A repeated write without a stored answer takes effect again.
    id: 'repeated-commits',
    file: `${database}/database.ts`,
    find: 'if (!repeated && (advanced || reply instanceof StoredFailure)) {',
    replace: 'if (advanced || reply instanceof StoredFailure) {',
    near: ['libs/database'],
  },
  {
    // Markers and answers of requests are kept for three hours. A policy of the table prevents the
    // opposite: that they are deleted before an hour has passed.
    id: 'markers-swept-late',
    file: `${database}/request-sweep.ts`,
    find: "WHERE created_at < now() - interval '1 hour' ORDER BY",
    replace: "WHERE created_at < now() - interval '3 hours' ORDER BY",
    near: ['libs/database', 'apps/deletion-worker'],
  },
];

/** Requests and replies over Redis Streams. */
const messages = [
  {
    // A request past its deadline is run.
    id: 'run-too-late',
    file: `${transport}/server/replica.ts`,
    find: 'if (this.clock.now() < entry.deadline) {',
    replace: 'if (entry.deadline > 0) {',
    near: ['libs/transport'],
  },
  {
    // A request that kills replicas is delivered once more before it is a dead letter.
    id: 'one-delivery-more',
    file: `${transport}/server/takeover.ts`,
    find: 'deliveries >= maxDeliveries',
    replace: 'deliveries > maxDeliveries',
    near: ['libs/transport'],
  },
  {
    // A reply that comes after the deadline settles its call once more.
    id: 'settled-twice',
    file: `${transport}/client/stream-client.ts`,
    find: 'this.pending.delete(id);\n    clearTimeout(call.timer);',
    replace: 'clearTimeout(call.timer);',
    near: ['libs/transport'],
  },
  {
    // A call can wait in the stream until its deadline, so it is answered too late.
    id: 'backlog-of-whole-deadline',
    file: `${transport}/client/service-view.ts`,
    find: 'this.backlogMs > timeLimitMs * maxBacklogShare',
    replace: 'this.backlogMs > timeLimitMs / maxBacklogShare',
    near: ['libs/transport'],
  },
  {
    // A dead letter keeps the data of its request.
    id: 'data-in-dead-letter',
    file: `${transport}/wire/redis-scripts.ts`,
    find: "if entry[2][at] ~= 'data' then",
    replace: 'if true then',
    near: ['libs/transport'],
  },
];

/** Faults of authentication. */
const access = [
  {
    // A token for another audience is accepted.
    id: 'any-audience',
    file: `${gateway}/auth/authenticator.ts`,
    find: 'audience: this.config.AUTH_AUDIENCE,',
    replace: '',
    near: ['apps/gateway'],
  },
  {
    // A token that was verified once is accepted after it has expired.
    id: 'remembered-beyond-expiry',
    file: `${gateway}/auth/authenticator.ts`,
    find: 'expiresAt: ({ expires }) => expires + clockToleranceSeconds * 1_000,',
    replace: 'expiresAt: () => undefined,',
    near: ['apps/gateway'],
  },
  {
    // A read-only app password can write.
    id: 'app-password-of-all-scopes',
    file: `${gateway}/auth/authenticator.ts`,
    find: 'scopes: new Set(credential.scopes),',
    replace: 'scopes: undefined,',
    near: ['apps/gateway'],
  },
  {
    // A token that does not say when it was issued outlives the revocation of all of a user's.
    id: 'undated-token-survives',
    file: 'libs/identity/src/revocations.ts',
    find: 'return issuedAt === undefined || issuedAt * 1_000 <= user.at;',
    replace: 'return issuedAt !== undefined && issuedAt * 1_000 <= user.at;',
    near: ['libs/identity', 'apps/gateway'],
  },
  {
    // A session that another replica ended is accepted for up to a minute.
    id: 'ended-session-lives-on',
    file: `${gpodder}/auth/sessions.ts`,
    find: 'isRevoked({ userId, credentialId, gid, lookedUpAt })',
    replace: 'isRevoked({ userId, credentialId, gid: `gid:${gid}`, lookedUpAt })',
    near: ['apps/gpodder'],
  },
];

/** The gpodder API. */
const facade = [
  {
    // A client that adds a second to each timestamp counts as one with its own clock.
    id: 'echo-plus-one',
    file: 'libs/gpodder-sync/src/sync-state.rules.ts',
    find: 'since === answeredSecond || since === answeredSecond + 1',
    replace: 'since === answeredSecond',
    near: ['libs/gpodder-sync', 'apps/gpodder'],
  },
  {
    // A row can have a stamp within the second after an answered timestamp.
    id: 'second-after-answer',
    file: 'libs/gpodder-sync/src/sync-state.rules.ts',
    find: '(second + 1) * 1_000',
    replace: 'second * 1_000',
    near: ['libs/gpodder-sync', 'apps/gpodder', 'apps/episode'],
  },
  {
    // Of too many devices the one that was used last goes.
    id: 'latest-device-goes',
    file: `${account}/gpodder/devices.ts`,
    find: 'd.last_used_at DESC, d.id OFFSET $2',
    replace: 'd.last_used_at, d.id OFFSET $2',
    near: ['apps/account', 'apps/gpodder'],
  },
  {
    // An episode at its end that is not played is shown as played.
    id: 'position-at-the-end',
    file: `${gpodder}/actions/client-action.rules.ts`,
    find: 'durationSeconds > positionSeconds ? durationSeconds',
    replace: 'durationSeconds >= positionSeconds ? durationSeconds',
    near: ['apps/gpodder'],
  },
  {
    // A subscription that was merged into another one is in the list, too.
    id: 'merged-feed-listed',
    file: `${subscription}/feeds.repository.ts`,
    find: '(s.id > $2 OR NOT s.is_subscribed) AND s.merged_into IS NULL AND (',
    replace: '(s.id > $2 OR NOT s.is_subscribed) AND (',
    near: ['apps/subscription', 'apps/gpodder'],
  },
];

/** People's accounts. */
const people = [
  {
    // An invitation makes any number of accounts.
    id: 'link-used-twice',
    file: `${account}/people/links.ts`,
    find: 'DELETE FROM account.links WHERE hash = $1 AND kind',
    replace: 'UPDATE account.links SET kind = $2 WHERE hash = $1 AND kind',
    near: ['apps/account'],
  },
  {
    // Passwords for one name from one network are not counted.
    id: 'guesses-uncounted',
    file: `${account}/people/sign-in-protection.ts`,
    find: "await this.limits.count(pairPolicy, lowerName, 'network', network);",
    replace: '',
    near: ['apps/account'],
  },
  {
    // A new password leaves the sessions that began with the old one.
    id: 'reset-keeps-sessions',
    file: `${account}/people/sign-out.ts`,
    find: 'id IS DISTINCT FROM $2::uuid',
    replace: 'id <> $2::uuid',
    near: ['apps/account'],
  },
];

/** All of them, by area. */
const areas = {
  rules,
  sql,
  clock,
  transport: messages,
  auth: access,
  gpodder: facade,
  account: people,
};

const inArea = ([area, those]) => those.map((fault) => ({ area, ...fault }));
export const faults = Object.entries(areas).flatMap(inArea);
