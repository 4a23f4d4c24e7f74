import { describe, expect, it } from 'vitest';
import { timeLimit, Turns } from './turns.js';

const ages = () => 60_000;

/** Something that ends when it is told to. */
function held() {
  let end: () => void = () => undefined;
  const run = new Promise<void>((resolve) => (end = resolve));
  return { end, run: () => run };
}

describe('Turns', () => {
  it('lets callers with the same key run one after another, in the order in which they came', async () => {
    const turns = new Turns();
    const log: string[] = [];
    const take = (name: string) =>
      turns.take('key', ages, async () => {
        log.push(`${name} begins`);
        await Promise.resolve();
        log.push(`${name} ends`);
      });
    await Promise.all(['a', 'b', 'c'].map(take));
    expect(log).toEqual(['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  it('lets callers with other keys run meanwhile', async () => {
    const turns = new Turns();
    const first = held();
    const running = turns.take('one', ages, first.run);
    expect(await turns.take('other', ages, () => Promise.resolve('done'))).toBe('done');
    first.end();
    await running;
  });

  it('goes on after one that failed, and gives its fault to nobody else', async () => {
    const turns = new Turns();
    const failed = turns.take('key', ages, () => Promise.reject(new Error('mine')));
    const next = turns.take('key', ages, () => Promise.resolve('done'));
    await expect(failed).rejects.toThrow('mine');
    expect(await next).toBe('done');
  });

  it('is unavailable, and runs nothing, when the turn does not come in time', async () => {
    const turns = new Turns();
    const first = held();
    const running = turns.take('key', ages, first.run);
    let ran = false;
    const late = turns.take('key', timeLimit(5), () => Promise.resolve((ran = true)));
    await expect(late).rejects.toMatchObject({ code: 'unavailable' });
    first.end();
    await running;
    expect(ran).toBe(false);
  });

  it('keeps the turn of the one that runs when another gave up waiting for it', async () => {
    const turns = new Turns();
    const first = held();
    const running = turns.take('key', ages, first.run);
    await expect(turns.take('key', () => 0, first.run)).rejects.toMatchObject({ code: 'unavailable' });
    const log: string[] = [];
    const next = turns.take('key', ages, () => Promise.resolve(void log.push('next')));
    await new Promise(setImmediate);
    log.push('first ends');
    first.end();
    await Promise.all([running, next]);
    expect(log).toEqual(['first ends', 'next']);
  });
});
