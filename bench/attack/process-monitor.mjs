// Preloaded into each attacked process (node --import). Serves the longest event loop delay since
// the last request, in milliseconds, on a socket in the folder MONITORS named after the pid.
import { createServer } from 'node:http';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Sampling interval in ms. Each sample includes it, so it is subtracted. */
const resolution = 10;
const delay = monitorEventLoopDelay({ resolution });
delay.enable();

// The request can be read in the iteration that was blocked; the next sample measures that one.
createServer((_request, response) => setTimeout(() => tell(response), 3 * resolution))
  .listen(join(process.env.MONITORS, String(process.pid)))
  .unref();

function tell(response) {
  response.end(JSON.stringify(Math.max(0, Math.round(delay.max / 1e6) - resolution)));
  delay.reset();
}
