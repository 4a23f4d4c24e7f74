import { Gauge, register } from 'prom-client';

/** Registers a gauge of this process's connections to Postgres. @param read returns the numbers. */
export function registerPoolMetrics(
  read: () => { total: number; idle: number; waiting: number },
): void {
  register.registerMetric(
    new Gauge({
      registers: [],
      name: 'podcast_sync_postgres_connections',
      help: 'Connections to Postgres by state; `waiting` are statements that wait for one.',
      labelNames: ['state'],
      collect() {
        for (const [state, count] of Object.entries(read())) this.set({ state }, count);
      },
    }),
  );
}
