// Loaded into each attacked process before its program (node --import): says on a socket in the folder MONITORS, named
// after the process' id, how long its event loop stood still at most since it was asked last, in milliseconds.
import { createServer } from 'node:http';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Between two looks; each measures the time since the last one, so this much is no delay. */
const resolution = 10;
const delay = monitorEventLoopDelay({ resolution });
delay.enable();

// A request may be read in the very tick that blocked the event loop: what that tick took is known at the next poll.
createServer((_request, response) => setTimeout(() => tell(response), 3 * resolution))
  .listen(join(process.env.MONITORS, String(process.pid)))
  .unref();

function tell(response) {
  response.end(JSON.stringify(Math.max(0, Math.round(delay.max / 1e6) - resolution)));
  delay.reset();
}
