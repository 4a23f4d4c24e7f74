/** How often each probe looks, in milliseconds; less would be a load of its own. */
const pauseMs = 5;

const pause = () => new Promise((resolve) => setTimeout(resolve, pauseMs));

class Latencies {
  count = 0;
  longest = 0;

  async time(run) {
    const begun = performance.now();
    await run();
    this.count += 1;
    this.longest = Math.max(this.longest, performance.now() - begun);
  }
}

/** What goes on beside a large change: the user's own reads and writes, another user's writes, a look at the clock. */
export class Probes {
  clock = new Latencies();
  reads = new Latencies();
  writes = new Latencies();
  others = new Latencies();
  refused = 0;
  totals = new Set();
  stopped = false;

  static async start(system, user) {
    const probes = new Probes();
    const other = await system.user();
    probes.running = Promise.all([
      // As long as somebody else holds the clock, this waits.
      probes.every(() => probes.clock.time(() => system.clock.query('SELECT sync.lock_clock($1)', [user.id]))),
      probes.every(() => probes.reads.time(() => probes.read(system, user))),
      probes.every(() => probes.writes.time(() => probes.write(system, user))),
      probes.every(() => probes.others.time(() => probes.write(system, other))),
    ]);
    return probes;
  }

  async stop() {
    this.stopped = true;
    await this.running;
    return this;
  }

  async every(look) {
    while (!this.stopped) {
      await look();
      await pause();
    }
  }

  async read(system, user) {
    const { total } = await system.call(user, 'GET', '/episodes?per_page=50', 200);
    this.totals.add(total);
  }

  async write(system, user) {
    const subscriptions = [{ feed_url: 'https://another.example/feed' }];
    const response = await system.send(user, 'POST', '/subscriptions', { subscriptions });
    if (response.status === 503) this.refused += 1;
    else if (response.status !== 200) throw new Error(`a write was answered with ${response.status}`);
  }
}
