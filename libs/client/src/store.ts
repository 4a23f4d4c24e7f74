/** A stored value: any JSON object or string. */
export type Value = object | string;

/** Values by key to store. `undefined` removes a key. */
export type Writes = ReadonlyMap<string, Value | undefined>;

/**
 * Storage of a {@link SyncClient}. Keys are printable ASCII. Several clients of one person can
 * share a store: tabs of a browser, or processes on a machine.
 */
export interface Store {
  get(key: string): Promise<Value | undefined>;
  /** Returns all entries with the key prefix, sorted by key. */
  list(prefix: string): Promise<[key: string, value: Value][]>;
  /** Writes all or nothing. A completed write survives a crash. */
  write(writes: Writes): Promise<void>;
  /**
   * Runs a function while no other user of the store runs one with the same name. Waits for its
   * turn. The lock ends when its holder dies.
   */
  alone<T>(name: string, run: () => Promise<T>): Promise<T>;
  /** Calls back after others' writes. @returns a function that ends it. For shared stores only. */
  watch?(listener: () => void): () => void;
}

/** Returns a store in memory, for tests and for clients that persist nothing. */
export function memoryStore(kept: Map<string, Value> = new Map()): Store {
  return {
    get: async (key) => copy(kept.get(key)),
    list: async (prefix) => {
      const keys = [...kept.keys()].filter((key) => key.startsWith(prefix)).sort();
      return keys.map((key) => [key, copy(kept.get(key) as Value)]);
    },
    write: async (writes) => {
      for (const [key, value] of writes) {
        if (value === undefined) kept.delete(key);
        else kept.set(key, copy(value));
      }
    },
    alone: turns(),
  };
}

/** Copies a value, as other stores do. React Native has no `structuredClone`. */
function copy<T extends Value | undefined>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}

/** Returns {@link Store.alone} for a single process. */
export function turns(): Store['alone'] {
  const last = new Map<string, Promise<unknown>>();
  return async (name, run) => {
    const before = last.get(name);
    const turn = (async () => {
      await before?.catch(() => {});
      return run();
    })();
    last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (last.get(name) === turn) last.delete(name);
    }
  };
}
