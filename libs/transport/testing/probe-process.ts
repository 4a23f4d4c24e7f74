import { appendFileSync } from 'node:fs';
import { heapAfterGc } from './heap.js';
import { startReplica, type ProbeOptions, type RedisEnvironment } from './probe-replica.js';

/** Options of the child process, which gets them as a JSON argument. */
export interface ProbeProcessOptions extends Omit<ProbeOptions, 'journal'> {
  readonly environment: RedisEnvironment;
  readonly name: string;
  /** File to which each run appends a line `<replica> <text>`; a kill does not lose it. */
  readonly runsFile: string;
}

const { environment, runsFile, ...options } = JSON.parse(process.argv[2]!) as ProbeProcessOptions;
const journal = {
  replica: options.name,
  ran: (text: string) => appendFileSync(runsFile, `${options.name} ${text}\n`),
  ended: () => {},
};
const { app, server } = await startReplica(environment, { ...options, journal });
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
// Ends this process when the process of the test ends.
process.on('disconnect', () => process.exit(1));
process.on('message', () =>
  process.send?.({ heap: heapAfterGc(), inFlight: server.counters?.inFlight }),
);
process.send?.('ready');
