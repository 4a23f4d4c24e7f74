/** What a store keeps under a key: anything that JSON can say. */
export type Value = object | string;

/** What to keep from now on under which key; `undefined` removes it. */
export type Writes = ReadonlyMap<string, Value | undefined>;

/**
 * Where a {@link SyncClient} keeps everything that it knows. Keys are texts of printable ASCII. Several clients of one
 * person may share a store: tabs of a browser, processes on a machine.
 */
export interface Store {
  get(key: string): Promise<Value | undefined>;
  /** All keys that begin so with their values, in the order of the keys. */
  list(prefix: string): Promise<[key: string, value: Value][]>;
  /** Keeps all or nothing. What it has answered for survives a crash. */
  write(writes: Writes): Promise<void>;
  /**
   * Runs something while nobody else who shares the store runs something of the same name; waits for its turn. Ends the
   * turn when the holder dies.
   */
  alone<T>(name: string, run: () => Promise<T>): Promise<T>;
  /** Calls back after others have written. Returns how to stop. A store that nobody else can share needs none. */
  watch?(listener: () => void): () => void;
}

/** A store that lasts as long as it is referenced: for tests, and for who wants nothing kept. */
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

/** As what is kept elsewhere is a copy as well. (React Native has no `structuredClone`.) */
function copy<T extends Value | undefined>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}

/** {@link Store.alone} among those of one process. */
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
