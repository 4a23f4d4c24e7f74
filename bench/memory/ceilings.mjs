/** Memory limit of each idle process of `npm start`, in MB. */
export const ceilings = {
  // The supervisor.
  'podcast-sync': 60,
  postgres: 110,
  'redis-server': 20,
  subscription: 80,
  episode: 80,
  'deletion-worker': 90,
  feed: 80,
  edge: 130,
};

/** Memory limit of all processes together, in MB. */
export const totalCeiling = 440;
