import { type WebEpisode, episodesOf } from './web.episodes.js';

/** What an app shows of an episode. */
export interface Shown {
  position: number;
  isPlayed: boolean;
}

/** What somebody did with an episode, that an app has not uploaded yet. */
export interface Action {
  readonly episode: WebEpisode;
  readonly action: 'play' | 'new' | 'download' | 'delete';
  /** Milliseconds of the app's clock. */
  readonly at: number;
  readonly started: number;
  readonly position: number;
  readonly total: number;
}

/** The library of an app: what it is subscribed to, where its listener is, and what waits to be uploaded. */
export class Library {
  readonly feeds = new Set<string>();
  readonly shown = new Map<string, Shown & { readonly episode: WebEpisode }>();
  readonly added = new Set<string>();
  readonly removed = new Set<string>();
  actions: Action[] = [];

  /** @param now its clock, in milliseconds. */
  constructor(readonly now: () => number = Date.now) {}

  /** The listener subscribes. */
  subscribe(...feeds: string[]): void {
    for (const feed of feeds) {
      this.keep(feed);
      this.removed.delete(feed);
      this.added.add(feed);
    }
  }

  /** The listener unsubscribes. */
  unsubscribe(feed: string): void {
    this.drop(feed);
    this.added.delete(feed);
    this.removed.add(feed);
  }

  /** The listener plays an episode up to a second of it; up to its end is "played". */
  play(episode: WebEpisode, position: number): void {
    const isPlayed = position >= episode.seconds;
    this.show(episode, { position: isPlayed ? 0 : position, isPlayed });
    this.act(episode, 'play', position);
  }

  act(episode: WebEpisode, action: Action['action'], position = 0): void {
    this.actions.push({ episode, action, at: this.now(), started: 0, position, total: episode.seconds });
  }

  /** It fetches a feed. */
  keep(feed: string): void {
    this.feeds.add(feed);
    for (const episode of episodesOf(feed))
      if (!this.shown.has(episode.url)) this.shown.set(episode.url, { episode, position: 0, isPlayed: false });
  }

  /** It removes a feed with its episodes, as if it had never been. */
  drop(feed: string): void {
    this.feeds.delete(feed);
    for (const [url, { episode }] of this.shown) if (episode.feed === feed) this.shown.delete(url);
  }

  show(episode: WebEpisode, shown: Shown): void {
    const known = this.shown.get(episode.url);
    if (known) Object.assign(known, shown);
  }

  /** Where the listener is in an episode; undefined where the app does not have it. */
  at(episode: WebEpisode): Shown | undefined {
    const found = this.shown.get(episode.url);
    return found && { position: found.position, isPlayed: found.isPlayed };
  }

  /** The episode that an action is about, as an app finds it: by guid where one was sent, else by its URL. */
  find(guid: string | undefined, url: string): WebEpisode | undefined {
    for (const { episode } of this.shown.values())
      if (guid === undefined ? episode.url === url : episode.guid === guid) return episode;
    return undefined;
  }
}

/** Cuts what is to be uploaded into what one request takes. */
export function batches<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
