import { readdirSync, readFileSync } from 'node:fs';

/** A sentence of a specification: its document, the heading above it and its text. */
export interface Citation {
  document: string;
  heading: string;
  sentence: string;
}

/** The draft demands the rule, or recommends it; or it is a rule of Podcast Sync. */
export type Level = 'must' | 'should' | 'ours';

/** A request and its expected answer. `vector.schema.json` describes every field. */
export interface Step {
  /** Method and path relative to the base, such as `GET /subscriptions`. */
  request?: string;
  /** The token that is sent: of the first user by default. */
  user?: 1 | 2 | 'none' | 'invalid';
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is, with the content type of `headers`. */
  raw?: string;
  /** The device whose `since` is sent, and set to the time of the answer. */
  poll?: string;
  /** Name of the array of rows: all pages are read, and the rows joined. */
  walk?: string;
  /** Steps after the first page of a walk. */
  between?: Step[];
  /** Steps that run at the same time, instead of a request. */
  parallel?: Step[];
  /** True if the request is repeated until its answer is the expected one. */
  until?: boolean;
  status?: number | number[];
  expect?: unknown;
  expectHeaders?: Record<string, unknown>;
}

/** A test of one rule. */
export interface Vector {
  id: string;
  profile: string;
  title: string;
  level: Level;
  cites: Citation;
  /** A sentence of the draft that demands the opposite. */
  conflicts?: Citation;
  steps: Step[];
}

interface VectorFile {
  profile: string;
  vectors: Omit<Vector, 'profile'>[];
}

const folder = new URL('../vectors/', import.meta.url);

/** Profiles in the order in which they run. `additions` runs only if it is named. */
export const profiles = [
  'subscriptions',
  'deletions',
  'episodes',
  'sync-guarantees',
  'additions',
] as const;

/** Returns the vectors of some profiles, in the order of `profiles` and of their files. */
export function readVectors(named: readonly string[]): Vector[] {
  const files = readdirSync(folder)
    .toSorted()
    .map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as VectorFile);
  return profiles
    .filter((profile) => named.includes(profile))
    .flatMap((profile) => files.filter((file) => file.profile === profile))
    .flatMap(({ profile, vectors }) => vectors.map((vector) => ({ ...vector, profile })));
}
