/**
 * Returns SQL that inserts episodes, each with a row in `episode.states` without statuses, and adds
 * them to `episode.totals`.
 *
 * @param insert the INSERT into `episode.episodes`.
 * @param changed an SQL expression for the stamp of their states.
 * @param then a query of the inserted rows, `made`; by default without a result.
 */
export const storedEpisodes = (insert: string, changed: string, then = 'SELECT FROM made') => `
  WITH made AS (${insert} RETURNING user_id, id, sync_id), states AS (
    INSERT INTO episode.states (user_id, id, sync_id, changed)
    SELECT user_id, id, sync_id, ${changed} FROM made
  ), totals AS (
    INSERT INTO episode.totals AS t (user_id, episodes)
    SELECT user_id, count(*) FROM made GROUP BY user_id
    ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + excluded.episodes
  )
  ${then}`;
