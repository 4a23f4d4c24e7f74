import { openDB } from 'idb';
import { processLocks, type Store, type Value } from './store.js';

/** Browser features that the store uses. Each is undefined on platforms without it. */
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

const objectStoreName = 'records';

/**
 * Returns a store in a browser's IndexedDB, which all tabs of an origin share. Its locks are Web
 * Locks. The browser releases them when the tab closes. Browsers have no Web Locks on plain http
 * pages. The locks then work only within a tab, so use the store in one tab at a time.
 *
 * @param name the name of the database. Use a separate database for each user.
 */
export async function indexedDbStore(name: string): Promise<
  Store & {
    /** Closes the database. The store is unusable afterwards. */
    close(): void;
  }
> {
  const db = await openDB(name, 1, {
    upgrade: (database) => void database.createObjectStore(objectStoreName),
  });
  const { locks } = platform.navigator ?? {};
  const channel = platform.BroadcastChannel && new platform.BroadcastChannel(name);
  channel?.unref?.();
  // Keys are ASCII, so U+007F is an upper bound for all keys with the prefix.
  const createKeyRange = (prefix: string) => platform.IDBKeyRange?.bound(prefix, `${prefix}\u{7f}`);
  const withTabLock = processLocks();
  return {
    get: async (key) => (await db.get(objectStoreName, key)) as Value | undefined,
    list: async (prefix) => {
      const { store } = db.transaction(objectStoreName);
      const [keys, values] = await Promise.all([
        store.getAllKeys(createKeyRange(prefix)),
        store.getAll(createKeyRange(prefix)),
      ]);
      return keys.map((key, index) => [String(key), values[index] as Value]);
    },
    write: async (writes) => {
      const transaction = db.transaction(objectStoreName, 'readwrite', { durability: 'strict' });
      const putOrDelete = ([key, value]: [string, Value | undefined]) =>
        value === undefined ? transaction.store.delete(key) : transaction.store.put(value, key);
      // A value that cannot be stored must abort the whole transaction.
      const allWrites = Promise.all([...writes].map(async (write) => putOrDelete(write)));
      allWrites.catch(() => {
        try {
          transaction.abort();
        } catch {
          // The transaction has already aborted.
        }
      });
      await Promise.all([allWrites, transaction.done]);
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
