import { openDB } from 'idb';
import { processLocks, type Store, type Value } from './store.js';

/** Browser features that the store uses in addition to IndexedDB; not all platforms have them. */
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

const table = 'records';

/**
 * Returns a store in a browser's IndexedDB, shared by all tabs of an origin. Its locks are Web
 * Locks, which end with their tab. Without Web Locks, as on plain http pages, the locks work only
 * within a tab: use the store in one tab at a time.
 *
 * @param name of the database; use one per user.
 */
export async function indexedDbStore(name: string): Promise<
  Store & {
    /** Closes the database. The store is unusable afterwards. */
    close(): void;
  }
> {
  const db = await openDB(name, 1, { upgrade: (created) => void created.createObjectStore(table) });
  const { locks } = platform.navigator ?? {};
  const channel = platform.BroadcastChannel && new platform.BroadcastChannel(name);
  channel?.unref?.();
  // Keys are ASCII, so U+007F is an upper bound for all keys with the prefix.
  const range = (prefix: string) => platform.IDBKeyRange?.bound(prefix, `${prefix}\u{7f}`);
  const withTabLock = processLocks();
  return {
    get: async (key) => (await db.get(table, key)) as Value | undefined,
    list: async (prefix) => {
      const { store } = db.transaction(table);
      const [keys, values] = await Promise.all([
        store.getAllKeys(range(prefix)),
        store.getAll(range(prefix)),
      ]);
      return keys.map((key, n) => [String(key), values[n] as Value]);
    },
    write: async (writes) => {
      const transaction = db.transaction(table, 'readwrite', { durability: 'strict' });
      const put = ([key, value]: [string, Value | undefined]) =>
        value === undefined ? transaction.store.delete(key) : transaction.store.put(value, key);
      // A value that cannot be stored must abort the whole transaction.
      const all = Promise.all([...writes].map(async (write) => put(write)));
      all.catch(() => {
        try {
          transaction.abort();
        } catch {
          // The transaction has already aborted.
        }
      });
      await Promise.all([all, transaction.done]);
      channel?.postMessage('written');
    },
    withLock: (lock, run) =>
      locks ? locks.request(`${name}/${lock}`, run) : withTabLock(lock, run),
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
