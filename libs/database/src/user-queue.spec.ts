import { describe, expect, it } from 'vitest';
import { countdown, UserQueue } from './user-queue.js';

const ages = () => 60_000;

/** Creates a run that ends on demand. */
function held() {
  let end: () => void = () => undefined;
  const run = new Promise<void>((resolve) => (end = resolve));
  return { end, run: () => run };
}

describe('UserQueue', () => {
  it('runs the writes of one user one after another, in the order in which they came', async () => {
    const queue = new UserQueue();
    const log: string[] = [];
    const take = (name: string) =>
      queue.run('ann', ages, async () => {
        log.push(`${name} begins`);
        await Promise.resolve();
        log.push(`${name} ends`);
      });
    await Promise.all(['a', 'b', 'c'].map(take));
    expect(log).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  it('runs writes of another user at the same time', async () => {
    const queue = new UserQueue();
    const first = held();
    const running = queue.run('ann', ages, first.run);
    expect(await queue.run('bob', ages, () => Promise.resolve('done'))).toBe('done');
    first.end();
    await running;
  });

  it('continues after a failed write, without passing its error to other writes', async () => {
    const queue = new UserQueue();
    const failed = queue.run('ann', ages, () => Promise.reject(new Error('mine')));
    const next = queue.run('ann', ages, () => Promise.resolve('done'));
    await expect(failed).rejects.toThrow('mine');
    expect(await next).toBe('done');
  });

  it('is unavailable, and runs nothing, when earlier writes take too long', async () => {
    const queue = new UserQueue();
    const first = held();
    const running = queue.run('ann', ages, first.run);
    let ran = false;
    const late = queue.run('ann', countdown(5), () => Promise.resolve((ran = true)));
    await expect(late).rejects.toMatchObject({ code: 'unavailable' });
    first.end();
    await running;
    expect(ran).toBe(false);
  });

  it('runs one write at a time, even after another stopped waiting', async () => {
    const queue = new UserQueue();
    const first = held();
    const running = queue.run('ann', ages, first.run);
    await expect(queue.run('ann', () => 0, first.run)).rejects.toMatchObject({
      code: 'unavailable',
    });
    const log: string[] = [];
    const next = queue.run('ann', ages, () => Promise.resolve(void log.push('next')));
    await new Promise(setImmediate);
    log.push('first ends');
    first.end();
    await Promise.all([running, next]);
    expect(log).toEqual(['first ends', 'next']);
  });
});
