import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The only lock until now. */
const lockGrants = `
        -- Waits for running inserts under a grant, so that the statements below see their rows.
        -- No later insert can use the grant.
        PERFORM FROM account.oidc o
        WHERE o.account_id = p_user AND o.model = 'Grant' ORDER BY o.id FOR UPDATE;`;

/** Returns SQL that replaces the function with one that locks rows before it deletes any. */
const eraseUser = (locks: string) => `
      CREATE OR REPLACE FUNCTION account.erase_user(p_user uuid, p_limit integer) RETURNS integer
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
      DECLARE
        v_left integer := p_limit;
        v_rows integer;
        v_table text;
      BEGIN${locks}
        FOREACH v_table IN ARRAY ARRAY[
          'settings', 'devices', 'gpodder_sessions', 'credentials', 'sessions', 'recovery_codes',
          'links', 'logins', 'oidc'
        ] LOOP
          -- Deletes by ctid, so that the cost does not depend on planner estimates.
          EXECUTE format(
            'DELETE FROM account.%1$I WHERE ctid = ANY (ARRAY('
              || 'SELECT ctid FROM account.%1$I WHERE account_id = $1 LIMIT $2))',
            v_table
          ) USING p_user, v_left;
          GET DIAGNOSTICS v_rows = ROW_COUNT;
          v_left := v_left - v_rows;
          EXIT WHEN v_left <= 0;
        END LOOP;
        IF v_left > 0 THEN
          DELETE FROM account.accounts WHERE id = p_user;
          GET DIAGNOSTICS v_rows = ROW_COUNT;
          v_left := v_left - v_rows;
        END IF;
        RETURN p_limit - v_left;
      END $$;`;

/**
 * Makes an erasure lock the rows of an account in the order of a sign-out: account, login flows,
 * grants, app passwords. Before, it locked the account last, and both could deadlock.
 */
export class OrderErasureLocks1764103000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      eraseUser(`
        -- This lock does not block inserts that reference the account: they can hold locks that
        -- the next statements wait for.
        PERFORM FROM account.accounts a WHERE a.id = p_user FOR NO KEY UPDATE;
        PERFORM FROM account.logins l WHERE l.account_id = p_user ORDER BY l.poll_hash FOR UPDATE;
        ${lockGrants.trim()}
        PERFORM FROM account.credentials c WHERE c.account_id = p_user ORDER BY c.id FOR UPDATE;`),
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(eraseUser(lockGrants));
  }
}
