import { openDB } from 'idb';
import { type Store, turns, type Value } from './store.js';

/** What of a browser is used beside IndexedDB; not everything is there everywhere. */
const platform = globalThis as unknown as {
  navigator?: { locks?: { request<T>(name: string, run: () => Promise<T>): Promise<T> } };
  BroadcastChannel?: new (name: string) => {
    postMessage(message: string): void;
    addEventListener(type: 'message', listener: () => void): void;
    close(): void;
    unref?(): void;
  };
  IDBKeyRange?: { bound(lower: string, upper: string): never };
};

/** The table of everything. */
const table = 'records';

/**
 * A store in a browser's IndexedDB, shared by all tabs of an origin. Turns are Web Locks, which end with their tab; where
 * there are none, as on pages of plain http, only one tab at a time may use a store.
 *
 * @param name of the database: one for each person who signs in.
 */
export async function indexedDbStore(name: string): Promise<Store & { close(): void }> {
  const db = await openDB(name, 1, { upgrade: (fresh) => void fresh.createObjectStore(table) });
  const { locks } = platform.navigator ?? {};
  const channel = platform.BroadcastChannel && new platform.BroadcastChannel(name);
  channel?.unref?.();
  // ASCII keys end before the first character after them.
  const range = (prefix: string) => platform.IDBKeyRange?.bound(prefix, `${prefix}\u{7f}`);
  const own = turns();
  return {
    get: async (key) => (await db.get(table, key)) as Value | undefined,
    list: async (prefix) => {
      const reading = db.transaction(table).store;
      const [keys, values] = await Promise.all([reading.getAllKeys(range(prefix)), reading.getAll(range(prefix))]);
      return keys.map((key, n) => [String(key), values[n] as Value]);
    },
    write: async (writes) => {
      const writing = db.transaction(table, 'readwrite', { durability: 'strict' });
      const put = ([key, value]: [string, Value | undefined]) =>
        value === undefined ? writing.store.delete(key) : writing.store.put(value, key);
      // What can't be kept would leave the rest of its transaction as it is.
      const all = Promise.all([...writes].map(async (write) => put(write)));
      all.catch(() => {
        try {
          writing.abort();
        } catch {
          // It was one of those that end it themselves.
        }
      });
      await Promise.all([all, writing.done]);
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin and takes none.
      channel?.postMessage('written');
    },
    alone: (turn, run) => (locks ? locks.request(`${name}/${turn}`, run) : own(turn, run)),
    watch: (listener) => {
      let isWatching = true;
      channel?.addEventListener('message', () => isWatching && listener());
      return () => void (isWatching = false);
    },
    close: () => {
      channel?.close();
      db.close();
    },
  };
}
