import { copyEpisodes } from '../growth/copy.mjs';
import { progressBar } from '../growth/progress.mjs';
import { seedUsers } from '../growth/seed.mjs';

/** Users with so many episode states each, written into the tables. */
export async function usersWithHistory(system, states) {
  const users = await seedUsers(system, { users: states.length, subscribed: 50, uploaded: 0 });
  const made = users.map((user, n) => Object.assign(user, { states: states[n] }));
  const rows = states.reduce((sum, each) => sum + each, 0);
  const indexes = await copyEpisodes(system.owner, made, progressBar('Episode states', rows));
  for (const { definition } of indexes) await system.owner.query(definition.replace(' ON ONLY ', ' ON '));
  await system.owner.query('VACUUM ANALYZE');
  return made;
}
