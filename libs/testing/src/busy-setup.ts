import { spawn } from 'node:child_process';

/** Program that keeps a CPU core busy until its parent ends. */
const busyLoop = `
process.on('disconnect', () => process.exit());
const burn = () => {
  const until = performance.now() + 50;
  while (performance.now() < until);
  setImmediate(burn);
};
burn();`;

/** With `BUSY=1`, starts two busy loops for the run. Tests must also pass on a busy machine. */
export default function setup(): (() => void) | undefined {
  if (!process.env.BUSY) return undefined;
  // Starts the loops only in the first call, because each tier calls this function.
  delete process.env.BUSY;
  const loops = [1, 2].map(() =>
    spawn(process.execPath, ['-e', busyLoop], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
  );
  return () => loops.forEach((loop) => void loop.kill());
}
