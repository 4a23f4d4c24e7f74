/** A stored value: any JSON object or string. */
export type Value = object | string;

/** Values by key to store. `undefined` removes a key. */
export type Writes = ReadonlyMap<string, Value | undefined>;

/**
 * Storage of a {@link SyncClient}. Keys are printable ASCII. Several clients of one user can
 * share a store: tabs of a browser, or processes on a machine.
 */
export interface Store {
  /** Returns the value of a key. */
  get(key: string): Promise<Value | undefined>;
  /** Returns all entries with the key prefix, sorted by key. */
  list(prefix: string): Promise<[key: string, value: Value][]>;
  /** Writes all entries atomically. A completed write survives a crash. */
  write(writes: Writes): Promise<void>;
  /**
   * Runs a function while it holds the lock with the name. Waits until the lock is free. All
   * clients that share the store share its locks. A lock ends when its holder dies.
   *
   * @param signal ends the wait, which then rejects. A store can ignore it if its waits do not keep
   *   the process alive.
   */
  withLock<T>(name: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Calls back after writes of other tabs or processes. Needed only if these share the store.
   *
   * @returns a function that removes the listener.
   */
  watch?(listener: () => void): () => void;
}

/** Returns a store in memory, for tests and for clients that persist nothing. */
export function memoryStore(records: Map<string, Value> = new Map()): Store {
  return {
    get: async (key) => copyValue(records.get(key)),
    list: async (prefix) => {
      const keys = [...records.keys()].filter((key) => key.startsWith(prefix)).sort();
      return keys.map((key) => [key, copyValue(records.get(key) as Value)]);
    },
    write: async (writes) => {
      for (const [key, value] of writes) {
        if (value === undefined) records.delete(key);
        else records.set(key, copyValue(value));
      }
    },
    withLock: processLocks(),
  };
}

/** Copies a value, as other stores do. React Native has no `structuredClone`. */
function copyValue<T extends Value | undefined>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}

/** Returns {@link Store.withLock} for a store that only one process uses. */
export function processLocks(): Store['withLock'] {
  const lastHolders = new Map<string, Promise<unknown>>();
  return async (name, run) => {
    const previous = lastHolders.get(name);
    const current = (async () => {
      await previous?.catch(() => {});
      return run();
    })();
    lastHolders.set(name, current);
    try {
      return await current;
    } finally {
      if (lastHolders.get(name) === current) lastHolders.delete(name);
    }
  };
}
