import { randomUUID } from 'node:crypto';

/** How many other users are at work, and the pause between two requests of one, in milliseconds. */
const [users, pauseMs] = [4, 20];

const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMs));

/** Other users than those of a load: each polls and, every fourth time, uploads 30 positions. */
export class Neighbours {
  polls = [];
  uploads = [];
  stopped = false;
  /** Whether they are at work. */
  atWork = false;

  static async start(system) {
    const neighbours = new Neighbours();
    const run = [];
    for (let n = 0; n < users; n += 1) {
      const user = await system.user();
      const guid = randomUUID();
      await system.call(user, 'POST', '/subscriptions', 200, {
        subscriptions: [{ feed_url: `https://feeds.example.org/${n}`, guid }],
      });
      run.push(() => neighbours.work(system, user, guid));
    }
    neighbours.running = Promise.all(run.map((work) => work()));
    return neighbours;
  }

  begin() {
    this.atWork = true;
    this.polls = [];
    this.uploads = [];
  }

  /** What they noticed since {@link begin}, in milliseconds. */
  end() {
    this.atWork = false;
    return {
      'poll p50': at(this.polls, 0.5),
      'poll p99': at(this.polls, 0.99),
      'upload p50': at(this.uploads, 0.5),
      'upload p99': at(this.uploads, 0.99),
    };
  }

  async stop() {
    this.stopped = true;
    await this.running;
  }

  async work(system, user, guid) {
    for (let n = 0; !this.stopped; n += 1) {
      await pause();
      if (!this.atWork) continue;
      const episodes = Array.from({ length: 30 }, (_, place) => ({
        podcast_guid: guid,
        episode_guid: `episode ${place}`,
        playback_position: { value: n, timestamp: new Date().toISOString() },
      }));
      const begun = performance.now();
      if (n % 4 === 0) await system.call(user, 'POST', '/episodes', 200, { episodes });
      else await system.call(user, 'GET', `/episodes?since=${new Date().toISOString()}`, 200);
      (n % 4 === 0 ? this.uploads : this.polls).push(performance.now() - begun);
    }
  }
}

function at(times, share) {
  const sorted = times.toSorted((a, b) => a - b);
  return Number((sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? NaN).toFixed(1));
}
