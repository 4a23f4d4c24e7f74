/** The most memory that each process of `npm start` may have when nobody uses it, in MB. */
export const ceilings = {
  // The supervisor.
  'podcast-sync': 60,
  postgres: 110,
  'redis-server': 20,
  subscription: 80,
  episode: 80,
  'deletion-worker': 90,
  edge: 130,
};

/** What all of them may have together. */
export const mostOfAll = 360;
