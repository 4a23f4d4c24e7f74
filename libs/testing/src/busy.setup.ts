import { spawn } from 'node:child_process';

/** Script that keeps a core busy until its parent ends. */
const loop = `
process.on('disconnect', () => process.exit());
const burn = () => {
  const until = performance.now() + 50;
  while (performance.now() < until);
  setImmediate(burn);
};
burn();`;

/** Starts two busy loops per run with `BUSY=1`. Tests have to pass next to them, too. */
export default function setup(): (() => void) | undefined {
  if (!process.env.BUSY) return undefined;
  // Each tier calls this. The first call starts the loops for all.
  delete process.env.BUSY;
  const loops = [1, 2].map(() =>
    spawn(process.execPath, ['-e', loop], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] }),
  );
  return () => loops.forEach((each) => void each.kill());
}
