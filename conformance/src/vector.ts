import { readdirSync, readFileSync } from 'node:fs';

/** A sentence of a specification: its document, the heading above it and its text. */
export interface Citation {
  document: string;
  heading: string;
  sentence: string;
}

/** `must`: the draft demands the rule. `should`: it recommends it. `ours`: a Podcast Sync rule. */
export type Level = 'must' | 'should' | 'ours';

/**
 * One step of a vector: a request with its expected answer, a walk over all pages, or steps that
 * run in parallel. `vector.schema.json` describes every field.
 */
export interface Step {
  /** Method and path relative to the base, such as `GET /subscriptions`. */
  request?: string;
  /** The user whose token is sent. Default: 1. `none` sends no token, `invalid` a wrong one. */
  user?: 1 | 2 | 'none' | 'invalid';
  headers?: Record<string, string>;
  /** Body of the request, sent as JSON. */
  body?: unknown;
  /** Body of the request, sent unchanged with the content type of `headers`. */
  raw?: string;
  /** Name of a simulated device, whose previous answer gives the request its `since`. */
  poll?: string;
  /** Name of a list's array of rows. Reads all pages; `expect` gets the rows of all of them. */
  walk?: string;
  /** Steps that run between the first and the second page of a walk. */
  between?: Step[];
  /** Steps that run at the same time, instead of a request. */
  parallel?: Step[];
  /** True if the request is repeated until its answer is the expected one, for at most 20 s. */
  until?: boolean;
  /** The allowed statuses. Default: 200. */
  status?: number | number[];
  /** The pattern of the body (`mismatch` in match.rules.ts). */
  expect?: unknown;
  expectHeaders?: Record<string, unknown>;
}

/** A test case of one rule, which is the sentence that it cites. */
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

const vectorFolder = new URL('../vectors/', import.meta.url);

/** Profiles, which are sets of vectors, in the order of a run. `additions` runs only on request. */
export const profiles = [
  'subscriptions',
  'deletions',
  'episodes',
  'sync-guarantees',
  'additions',
] as const;

/** Returns the vectors of the profiles, in the order of {@link profiles} and of their files. */
export function readVectors(selected: readonly string[]): Vector[] {
  const files = readdirSync(vectorFolder)
    .toSorted()
    .map((name) => JSON.parse(readFileSync(new URL(name, vectorFolder), 'utf8')) as VectorFile);
  return profiles
    .filter((profile) => selected.includes(profile))
    .flatMap((profile) => files.filter((file) => file.profile === profile))
    .flatMap(({ profile, vectors }) => vectors.map((vector) => ({ ...vector, profile })));
}
