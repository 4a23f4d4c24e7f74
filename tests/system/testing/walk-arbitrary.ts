import fc from 'fast-check';
import type { Fault } from './sync-faults.js';

/** A device's step, before the feeds' guids and URLs at that time are known. */
export type Step = { feed: number; former: boolean; twice: boolean } & (
  | { op: 'subscribe' | 'delete' }
  | { op: 'read' | 'list' | 'episodes' | 'deletion' }
  | { op: 'update'; isSubscribed: boolean; rename: boolean; move: boolean }
  | { op: 'upload'; episode: string; minute: number }
);

/** Groups of concurrent steps. Each fault applies to the group with its number. */
export interface Walk {
  groups: Step[][];
  faults: { group: number; fault: Fault }[];
}

/** Number of feeds of a user. */
export const feeds = 2;

const common = { feed: fc.nat(feeds - 1), former: fc.boolean(), twice: fc.boolean() };
const update = { isSubscribed: fc.boolean(), rename: fc.boolean(), move: fc.boolean() };
const uploaded = { episode: fc.constantFrom('first', 'midway', 'last'), minute: fc.nat(3) };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ ...common, op: fc.constantFrom('subscribe', 'delete') }) },
  { weight: 3, arbitrary: fc.record({ ...common, op: fc.constant('upload'), ...uploaded }) },
  { weight: 2, arbitrary: fc.record({ ...common, op: fc.constant('update'), ...update }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...common,
      op: fc.constantFrom('read', 'list', 'episodes', 'deletion'),
    }),
  },
);

const at = (fault: fc.Arbitrary<Fault>) => fc.record({ group: fc.nat(5), fault });
const cut = fc.oneof(
  fc.record({
    fault: fc.constant('cut Postgres'),
    app: fc.constantFrom('subscription', 'episode', 'deletion-worker'),
  }),
  fc.record({ fault: fc.constant('cut Redis'), of: fc.constantFrom('redis', 'queueRedis') }),
);
const jobs = fc.record({
  fault: fc.constant('jobs'),
  become: fc.constantFrom('lost', 'doubled', 'late'),
});
const faultyJobs = fc.oneof(
  { weight: 5, arbitrary: jobs },
  { weight: 1, arbitrary: fc.record({ fault: fc.constant('queue emptied') }) },
);
const killedWorker = fc.record({
  fault: fc.constant('kill'),
  app: fc.constant('worker'),
  at: fc.constantFrom('requested', 'claimed', 'midway', 'finished'),
});
const killedService = fc.record({
  fault: fc.constant('kill'),
  app: fc.constantFrom('subscription', 'episode'),
});
const crash = fc.oneof(
  { weight: 3, arbitrary: killedWorker },
  { weight: 1, arbitrary: killedService },
);

/** Walks with at least one fault of connections and of jobs, and optionally one kill. */
export const walks = ({ kills }: { kills: boolean }): fc.Arbitrary<Walk> =>
  fc.record({
    groups: fc.array(fc.array(step, { minLength: 1, maxLength: 3 }), {
      minLength: 2,
      maxLength: 6,
    }),
    faults: fc.tuple(at(cut), at(faultyJobs), ...(kills ? [at(crash)] : [])),
  });
