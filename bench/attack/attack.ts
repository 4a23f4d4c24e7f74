import type { Attacker } from './attacker.js';

/** A denial-of-service attack. */
export interface Attack {
  readonly name: string;
  /** Prepares the attack before the measurement. @returns the function to run. */
  prepare(attacker: Attacker): Run | Promise<Run>;
}

/** Runs the attack. Resolves when it is over. */
export type Run = () => Promise<unknown>;

/** Size limit of a body in bytes. */
export const bodyBytes = 2 * 2 ** 20;

/** Returns a text that repeats a unit until the body is full, between a start and an end. */
export function filled(start: string, unit: string, end: string, bytes = bodyBytes): string {
  const units = Math.floor(
    (bytes - Buffer.byteLength(start + end) + 1) / (Buffer.byteLength(unit) + 1),
  );
  return `${start}${Array.from({ length: units }, () => unit).join(',')}${end}`;
}

/** Returns an attack that repeats one request. */
export function same(
  name: string,
  count: number,
  request: Parameters<Attacker['bytes']>[0],
  atOnce = count,
): Attack {
  return {
    name: `${count} x ${name}`,
    prepare: (attacker) => {
      const bytes = attacker.bytes(request);
      return () => attacker.flood(count, atOnce, () => bytes);
    },
  };
}

/** Subscribes to new feeds. @returns their guids. */
export async function subscribed({ device }: Attacker, count: number): Promise<string[]> {
  const guids: string[] = [];
  for (let done = 0; done < count; done += 500) {
    const feeds = Array.from({ length: Math.min(500, count - done) }, (_, n) => ({
      feed_url: `https://feeds.example/${done + n}`,
    }));
    const { status, body } = await device.send<{ success: { guid: string }[] }>(
      'POST',
      '/subscriptions',
      {
        body: { subscriptions: feeds },
      },
    );
    if (status !== 200) throw new Error(`POST /subscriptions: ${status}`);
    guids.push(...body.success.map(({ guid }) => guid));
  }
  return guids;
}

/** Uploads episodes in batches. */
export async function uploaded(
  { device }: Attacker,
  episodes: readonly object[],
  atOnce = 250,
): Promise<void> {
  for (let done = 0; done < episodes.length; done += atOnce) {
    const body = { episodes: episodes.slice(done, done + atOnce) };
    const { status, body: answer } = await device.send<{ failure: { code: string }[] }>(
      'POST',
      '/episodes',
      { body },
    );
    // The service limits episodes that are too similar.
    const wrong =
      status === 200 ? answer.failure.find(({ code }) => code !== 'limit_reached') : answer;
    if (wrong) throw new Error(`POST /episodes: ${status} ${JSON.stringify(wrong)}`);
  }
}

/** Returns a different day for each number. */
export function day(n: number): string {
  return new Date(Date.UTC(2000, 0, 1 + n)).toISOString();
}

/** Returns an episode with all fields, different for each number. */
export function episode(podcastGuid: string, n: number): Record<string, unknown> {
  return {
    podcast_guid: podcastGuid,
    episode_guid: `e${n}`,
    title: `t${n}`,
    publish_date: day(n),
    enclosure_url: `https://audio.example/${n}`,
    episode_url: `https://site.example/${n}`,
  };
}

/** Returns an episode with texts near their limits, about 7.5 KB. */
export function largeEpisode(podcastGuid: string, n: number): Record<string, unknown> {
  return {
    ...episode(podcastGuid, n),
    episode_guid: `${n}-${'g'.repeat(1_900)}`,
    title: `${n} ${noise(n, 1_900)}`,
    enclosure_url: `https://audio.example/${n}/${noise(n, 3_500)}`,
  };
}

/** Returns a text that compresses badly, the same for the same seed. */
function noise(seed: number, length: number): string {
  let state = seed + 1;
  let text = '';
  while (text.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += state.toString(36);
  }
  return text.slice(0, length);
}
