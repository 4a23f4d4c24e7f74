import { describe, expect, it } from 'vitest';
import { Pulls } from './pulls.js';

/** A server whose clock is `clock`. Each pull ends when the test releases it. */
function server() {
  const pulls: { since: string | undefined; release: (error?: Error) => void }[] = [];
  const state = { clock: '1' };
  const of = new Pulls((since) => {
    const { clock } = state;
    return new Promise((resolve, reject) =>
      pulls.push({ since, release: (error) => (error ? reject(error) : resolve(clock)) }),
    );
  });
  const sinces = () => pulls.map(({ since }) => since);
  /** Releases the newest pull and waits for what follows from it. */
  const release = async (error?: Error) => {
    pulls.at(-1)?.release(error);
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { of, state, sinces, release };
}

describe('Pulls', () => {
  it('pulls again after the first load if a change was notified during it', async () => {
    const { of, state, sinces, release } = server();
    void of.begin();
    state.clock = '2';
    await of.hint('2');
    await release();
    expect(sinces()).toEqual([undefined, '1']);
    await release();
    expect(of.since).toBe('2');
  });

  it('pulls once more after a pull, however many changes were notified during it', async () => {
    const { of, state, sinces, release } = server();
    void of.begin();
    await release();
    void of.hint('2');
    state.clock = '4';
    for (const stamp of ['4', '3']) void of.hint(stamp);
    await release();
    await release();
    expect([sinces(), of.since]).toEqual([[undefined, '1', '1'], '4']);
  });

  it('ignores a notification of what it has loaded, and any before the first load', async () => {
    const { of, sinces, release } = server();
    await of.hint('1');
    void of.begin();
    await release();
    await of.hint('1');
    expect(sinces()).toEqual([undefined]);
  });

  it('repeats a failed pull with the next notification', async () => {
    const { of, sinces, release } = server();
    void of.begin();
    await release();
    void of.hint('2');
    await release(new Error('offline'));
    void of.hint('2');
    expect(sinces()).toEqual([undefined, '1', '1']);
  });

  it('fails the first load, which the next call repeats', async () => {
    const { of, sinces, release } = server();
    const first = of.begin();
    void of.hint('2');
    await Promise.all([expect(first).rejects.toThrow('offline'), release(new Error('offline'))]);
    void of.begin();
    expect(sinces()).toEqual([undefined, undefined]);
  });
});
