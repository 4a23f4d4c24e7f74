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
   * Waits for the lock with the name, then runs the function while it holds the lock. All clients
   * that share the store share its locks. The end of the holder's tab or process ends a lock.
   *
   * @param signal ends the wait with a rejection. A store can ignore the signal if its waits do not
   *   keep the process alive.
   */
  withLock<T>(name: string, run: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Calls `listener` after writes of other tabs or processes. A store that only one tab or process
   * uses does not need the method.
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

/** Copies a value by JSON, because React Native has no `structuredClone`. */
function copyValue<T extends Value | undefined>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}

/** Returns a {@link Store.withLock} for a store that only one process uses. */
export function processLocks(): Store['withLock'] {
  const lastHolders = new Map<string, Promise<unknown>>();
  return async (name, run) => {
    const previousRun = lastHolders.get(name);
    const currentRun = (async () => {
      await previousRun?.catch(() => {});
      return run();
    })();
    lastHolders.set(name, currentRun);
    try {
      return await currentRun;
    } finally {
      if (lastHolders.get(name) === currentRun) lastHolders.delete(name);
    }
  };
}
