import { spawn } from 'node:child_process';

/** Takes all the time of a core until its parent is gone. */
const loop = `
process.on('disconnect', () => process.exit());
const burn = () => {
  const until = performance.now() + 50;
  while (performance.now() < until);
  setImmediate(burn);
};
burn();`;

/** Once per run, with `BUSY=1`: two busy loops beside the tests, which have to be green there, too. */
export default function setup(): (() => void) | undefined {
  if (!process.env.BUSY) return undefined;
  // Each tier asks; the first one starts them, for all.
  delete process.env.BUSY;
  const loops = [1, 2].map(() =>
    spawn(process.execPath, ['-e', loop], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
  );
  return () => loops.forEach((each) => void each.kill());
}
