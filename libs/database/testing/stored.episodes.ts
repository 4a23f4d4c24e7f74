/**
 * SQL that writes episodes straight into Postgres, each with an empty state, and counts them.
 *
 * @param insert the INSERT into `episode.episodes`.
 * @param changed when their states changed, an SQL expression.
 * @param then what is done with those that were `made`; by default nothing.
 */
export const storedEpisodes = (insert: string, changed: string, then = 'SELECT FROM made') => `
  WITH made AS (${insert} RETURNING user_id, id, sync_id), states AS (
    INSERT INTO episode.states (user_id, id, sync_id, changed) SELECT user_id, id, sync_id, ${changed} FROM made
  ), totals AS (
    INSERT INTO episode.totals AS t (user_id, episodes) SELECT user_id, count(*) FROM made GROUP BY user_id
    ON CONFLICT (user_id) DO UPDATE SET episodes = t.episodes + excluded.episodes
  )
  ${then}`;
