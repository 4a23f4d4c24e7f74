/** Memory limit of each idle process of `npm start`, in MB. */
export const ceilings = {
  // The supervisor.
  'podcast-sync': 40,
  postgres: 75,
  'redis-server': 15,
  subscription: 45,
  episode: 45,
  'deletion-worker': 60,
  feed: 55,
  edge: 110,
};

/** Memory limit of all processes together, in MB. */
export const totalCeiling = 360;

/** Limit of the CPU time of two replicas of each service together, in percent of a core. */
export const cpuCeiling = 1.5;
