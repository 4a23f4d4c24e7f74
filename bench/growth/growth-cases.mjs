import { quantile } from '../report.mjs';
import { sinceOf } from './copy.mjs';

/** Requests per case, unless the whole case takes longer than `limitMs`. */
const times = 101;
const limitMs = 6_000;
const warmUpMs = 20_000;

/** The newest clock of the seed; nothing changed since. */
const nothingNew = '2026-01-01T00:00:00.000Z';

const formatted = (number) => number.toLocaleString('en');

/** Measures HTTP requests one at a time. Compared requests alternate: other load affects all. */
export class GrowthCases {
  uploads = 0;

  constructor(system, say) {
    this.system = system;
    this.say = say;
  }

  /** Sends requests until the code is compiled; otherwise the first results would look slower. */
  async warmUp(user) {
    const upload = await this.upload(user);
    for (const until = performance.now() + warmUpMs; performance.now() < until;)
      await this.compare({ page: this.get(user, '/episodes'), upload });
  }

  async readsByUser(users) {
    const poll = await this.byUser(users, (user) =>
      this.get(user, `/episodes?since=${nothingNew}`),
    );
    const page = await this.byUser(users, (user) => this.get(user, '/episodes?per_page=10'));
    return [
      ...lines('poll with nothing new, states of the user:', poll, 1.2),
      ...lines('page of 10 with `total`, states of the user:', page, 5),
    ];
  }

  /**
   * Measures uploads by the number of a user's states. Runs last, because uploads move rows. All
   * users upload as many episodes as the smallest has.
   */
  async uploadsByUser(users) {
    const upload = await this.byUser(users, (user) => this.upload(user, users[0].states));
    return lines(`POST of ${users[0].states} episodes, states of the user:`, upload, 1.3);
  }

  async byUser(users, requestOf) {
    const requests = await Promise.all(users.map(requestOf));
    return this.compare(
      Object.fromEntries(users.map(({ states }, n) => [formatted(states), requests[n]])),
    );
  }

  /** Measures a page far along the links against the first page. */
  async deepPage(user) {
    const depth = Math.min(1_000, Math.floor(user.states / 50));
    let path = '/episodes?per_page=50';
    for (let page = 1; page < depth; page += 1) {
      const { next } = await this.system.call(user, 'GET', path, 200);
      if (page === 1) this.say(`Walking to page ${depth} ...`);
      path = next.slice(this.system.baseUrl.length);
    }
    const found = await this.compare({
      1: this.get(user, '/episodes?per_page=50'),
      [formatted(depth)]: this.get(user, path),
    });
    return lines(`page of 50 of ${formatted(user.states)}, by its number:`, found, 1.2);
  }

  /** Measures lists with `since` by their number of matches: the first and the second page. */
  async sinces(ascending, descending) {
    const rows = [];
    for (const [where, user] of [
      ['highest', ascending],
      ['lowest', descending],
    ]) {
      const [first, second] = [{}, {}];
      for (const share of [0.001, 0.1, 0.5]) {
        const path = `/episodes?per_page=50&since=${sinceOf(user.states, share)}`;
        const { next, total } = await this.system.call(user, 'GET', path, 200);
        const label = `${share * 100} % (${formatted(total)})`;
        first[label] = this.get(user, path);
        if (next) second[label] = this.get(user, next.slice(this.system.baseUrl.length));
      }
      rows.push(
        ...lines(`since, first page, matches at the ${where} ids:`, await this.compare(first)),
      );
      rows.push(
        ...lines(`since, second page, matches at the ${where} ids:`, await this.compare(second)),
      );
    }
    return rows;
  }

  /** Measures requests that can depend on the size of the tables. */
  async inTable(user) {
    return this.compare({
      page: this.get(user, '/episodes?per_page=50'),
      upload: await this.upload(user),
    });
  }

  tableGrown(empty, full, rows) {
    const beside = (name) => ({ 'an empty one': empty[name], [formatted(rows)]: full[name] });
    return [
      ...lines('page of 50, rows of the table:', beside('page'), 1.3),
      ...lines('POST of 30 episodes, rows of the table:', beside('upload'), 1.3),
    ];
  }

  get(user, path) {
    return () => this.system.call(user, 'GET', path, 200);
  }

  /** Returns a request for the user's first episodes with a new position each time. */
  async upload(user, count = 30) {
    const path = `/episodes?per_page=${count}`;
    const { episodes } = await this.system.call(user, 'GET', path, 200);
    return () => {
      this.uploads += 1;
      const timestamp = new Date(Date.UTC(2025, 6) + this.uploads * 1_000).toISOString();
      const position = { playback_position: { value: this.uploads, timestamp } };
      return this.system.call(user, 'POST', '/episodes', 200, {
        episodes: episodes.map((episode) => ({ ...episode, ...position })),
      });
    };
  }

  /** Returns the median of each request in milliseconds. */
  async compare(requests) {
    const took = Object.fromEntries(Object.keys(requests).map((name) => [name, []]));
    const started = performance.now();
    for (let n = 0; n < times && (n < 3 || performance.now() < started + limitMs); n += 1)
      for (const [name, send] of Object.entries(requests)) {
        const sentAt = performance.now();
        await send();
        took[name].push(performance.now() - sentAt);
      }
    return Object.fromEntries(
      Object.entries(took).map(([name, all]) => [name, quantile(all, 0.5)]),
    );
  }
}

/** Returns lines of the report, with ratios to the first; the limit applies to the last. */
function lines(what, medians, most) {
  const entries = Object.entries(medians);
  return entries.map(([name, p50], n) => ({
    what: `${what} ${name}`,
    p50,
    ratio: p50 / entries[0][1],
    ...(n === entries.length - 1 && { most }),
  }));
}
