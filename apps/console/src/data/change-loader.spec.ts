import { describe, expect, it } from 'vitest';
import { ChangeLoader } from './change-loader.js';

/** Returns a loader of a server whose clock is `clock`. The test completes each request. */
function server() {
  const requests: { since: string | undefined; complete: (error?: Error) => void }[] = [];
  const state = { clock: '1' };
  const loader = new ChangeLoader((since) => {
    const { clock } = state;
    return new Promise((resolve, reject) =>
      requests.push({ since, complete: (error) => (error ? reject(error) : resolve(clock)) }),
    );
  });
  const sinces = () => requests.map(({ since }) => since);
  /** Completes the latest request and waits for its consequences. */
  const complete = async (error?: Error) => {
    requests.at(-1)?.complete(error);
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { loader, state, sinces, complete };
}

describe('ChangeLoader', () => {
  it('loads changes that were notified during the first load', async () => {
    const { loader, state, sinces, complete } = server();
    void loader.load();
    state.clock = '2';
    const notified = loader.notify('2').then(() => loader.loadedUntil);
    await complete();
    expect(sinces()).toEqual([undefined, '1']);
    await complete();
    expect(await notified).toBe('2');
  });

  it('sends one request for all changes that were notified during another one', async () => {
    const { loader, state, sinces, complete } = server();
    void loader.load();
    await complete();
    void loader.notify('2');
    state.clock = '4';
    for (const stamp of ['4', '3']) void loader.notify(stamp);
    await complete();
    await complete();
    expect([sinces(), loader.loadedUntil]).toEqual([[undefined, '1', '1'], '4']);
  });

  it('ignores notifications of loaded changes, and all before the first load', async () => {
    const { loader, sinces, complete } = server();
    await loader.notify('1');
    void loader.load();
    await complete();
    await loader.notify('1');
    expect(sinces()).toEqual([undefined]);
  });

  it('repeats a failed request at the next notification', async () => {
    const { loader, sinces, complete } = server();
    void loader.load();
    await complete();
    void loader.notify('2');
    await complete(new Error('offline'));
    void loader.notify('2');
    expect(sinces()).toEqual([undefined, '1', '1']);
  });

  it('rejects a failed first load, and the next call repeats it', async () => {
    const { loader, sinces, complete } = server();
    const first = loader.load();
    void loader.notify('2');
    await Promise.all([expect(first).rejects.toThrow('offline'), complete(new Error('offline'))]);
    void loader.load();
    expect(sinces()).toEqual([undefined, undefined]);
  });
});
