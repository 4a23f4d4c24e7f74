import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Creates accounts, credentials, sessions and the OAuth issuer's state. Citus does not distribute
 * these tables by user, because most lookups come before the user is identified. Random secrets
 * are stored as SHA-256.
 */
export class CreateAccount1764195000005 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SCHEMA account;
      GRANT USAGE ON SCHEMA account TO podcast_sync_account_group, podcast_sync_deletion_group;

      -- The account of a person. Its id is the user id in all other schemas.
      CREATE TABLE account.accounts (
        id uuid NOT NULL,
        -- The name as typed, unique regardless of case. NULL until a user of an external identity
        -- provider chooses one.
        name text,
        -- The identity at an external identity provider; NULL without one.
        issuer text,
        subject text,
        -- PHC text of argon2id; NULL without a password.
        password text,
        -- The encrypted secret of time-based codes (TOTP); NULL without one.
        totp_secret bytea,
        totp_confirmed_at timestamptz,
        -- The time step of the last accepted code, so that a code is valid once.
        totp_step bigint,
        -- The time of the last accepted challenge of a passkey, so that a challenge is valid once.
        passkey_challenge_at timestamptz,
        email text,
        email_verified_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        -- Time of the last sign-in in a browser; NULL before the first.
        signed_in_at timestamptz,
        disabled_at timestamptz,
        -- True for people who manage the accounts of others on the pages.
        is_administrator boolean NOT NULL DEFAULT false,
        CONSTRAINT accounts_pkey PRIMARY KEY (id),
        CONSTRAINT accounts_name CHECK (name ~ '^[A-Za-z0-9_.-]{1,64}$'),
        CONSTRAINT accounts_subject CHECK ((issuer IS NULL) = (subject IS NULL))
      );
      CREATE UNIQUE INDEX accounts_name_key ON account.accounts (lower(name));
      CREATE UNIQUE INDEX accounts_subject_key ON account.accounts (issuer, subject);

      CREATE TABLE account.recovery_codes (
        account_id uuid NOT NULL,
        hash bytea NOT NULL,
        used_at timestamptz,
        CONSTRAINT recovery_codes_pkey PRIMARY KEY (account_id, hash),
        CONSTRAINT recovery_codes_account_fkey FOREIGN KEY (account_id)
          REFERENCES account.accounts (id) ON DELETE CASCADE
      );

      -- Passkeys (WebAuthn). The authenticator has chosen the id.
      CREATE TABLE account.passkeys (
        id bytea NOT NULL,
        account_id uuid NOT NULL,
        public_key bytea NOT NULL,
        -- The authenticator's count of signatures; 0 if it does not count.
        counter bigint NOT NULL,
        transports text[] NOT NULL,
        label text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        last_used_at timestamptz,
        -- Time of the sign-out that made it a second factor only; NULL while it signs in alone.
        suspended_at timestamptz,
        CONSTRAINT passkeys_pkey PRIMARY KEY (id),
        CONSTRAINT passkeys_account_fkey FOREIGN KEY (account_id)
          REFERENCES account.accounts (id) ON DELETE CASCADE
      );
      CREATE INDEX passkeys_account ON account.passkeys (account_id);

      -- Sessions of signed-in browsers.
      CREATE TABLE account.sessions (
        hash bytea NOT NULL,
        id uuid NOT NULL,
        account_id uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        -- Time of the last authentication by password, code or provider.
        authenticated_at timestamptz NOT NULL DEFAULT now(),
        -- Updated at most once an hour.
        last_used_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        address text NOT NULL,
        user_agent text NOT NULL,
        CONSTRAINT sessions_pkey PRIMARY KEY (hash),
        CONSTRAINT sessions_account_fkey FOREIGN KEY (account_id)
          REFERENCES account.accounts (id) ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX sessions_id_key ON account.sessions (id);
      CREATE INDEX sessions_account ON account.sessions (account_id);
      CREATE INDEX sessions_expiry ON account.sessions (expires_at);

      -- Single-use links in mails, messages or a terminal.
      CREATE TABLE account.links (
        hash bytea NOT NULL,
        kind text NOT NULL,
        -- The account to reset or verify, or the id of the account to create.
        account_id uuid,
        name text,
        email text,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        CONSTRAINT links_pkey PRIMARY KEY (hash),
        CONSTRAINT links_kind CHECK (kind IN ('first', 'invite', 'reset', 'verify'))
      );
      CREATE INDEX links_account ON account.links (account_id);
      CREATE INDEX links_expiry ON account.links (expires_at);

      -- App passwords.
      CREATE TABLE account.credentials (
        id uuid NOT NULL,
        account_id uuid NOT NULL,
        hash bytea NOT NULL,
        label text NOT NULL,
        scopes text[] NOT NULL,
        -- True for the app password of a podcast app, false for that of a script.
        is_app boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now(),
        -- Updated at most once a minute.
        last_used_at timestamptz,
        expires_at timestamptz,
        -- Time of a sign-out after which the app password is refused until its owner keeps it;
        -- NULL while it is valid.
        suspended_at timestamptz,
        CONSTRAINT credentials_pkey PRIMARY KEY (id),
        CONSTRAINT credentials_account_fkey FOREIGN KEY (account_id)
          REFERENCES account.accounts (id) ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX credentials_hash_key ON account.credentials (hash);
      CREATE INDEX credentials_account ON account.credentials (account_id);

      -- Sessions of the gpodder API. Ended sessions are kept: the signed cookie of a deleted one
      -- would start it again.
      CREATE TABLE account.gpodder_sessions (
        credential_id uuid NOT NULL,
        -- The first 16 bytes of the SHA-256 of its cookie.
        id uuid NOT NULL,
        account_id uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        -- Updated at most once a day.
        last_used_at timestamptz NOT NULL DEFAULT now(),
        ended_at timestamptz,
        CONSTRAINT gpodder_sessions_pkey PRIMARY KEY (credential_id, id),
        CONSTRAINT gpodder_sessions_credential_fkey FOREIGN KEY (credential_id)
          REFERENCES account.credentials (id) ON DELETE CASCADE
      );
      CREATE INDEX gpodder_sessions_account ON account.gpodder_sessions (account_id);

      -- Devices that gpodder clients have registered; the id is from the client.
      CREATE TABLE account.devices (
        account_id uuid NOT NULL,
        id text NOT NULL,
        caption text NOT NULL,
        type text NOT NULL,
        -- The app password that the device used last. It has no foreign key, because a device
        -- remains after its app password was deleted.
        credential_id uuid,
        -- Updated at most once a day.
        last_used_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT devices_pkey PRIMARY KEY (account_id, id),
        CONSTRAINT devices_type CHECK (type IN ('desktop', 'laptop', 'mobile', 'server', 'other')),
        CONSTRAINT devices_account_fkey FOREIGN KEY (account_id)
          REFERENCES account.accounts (id) ON DELETE CASCADE
      );

      -- Settings of clients of the gpodder API.
      CREATE TABLE account.settings (
        account_id uuid NOT NULL,
        scope text NOT NULL,
        -- By scope: the id of the device, the guid of the subscription or the sync_id of the
        -- episode; empty for the account.
        subject text NOT NULL,
        -- The settings as sent by the client: jsonb would change numbers and reject some texts.
        settings json NOT NULL,
        -- The bytes that count for the user's limit of settings.
        bytes integer NOT NULL,
        CONSTRAINT settings_pkey PRIMARY KEY (account_id, scope, subject),
        CONSTRAINT settings_scope CHECK (scope IN ('account', 'device', 'podcast', 'episode')),
        CONSTRAINT settings_account_fkey FOREIGN KEY (account_id)
          REFERENCES account.accounts (id) ON DELETE CASCADE
      );

      -- Login flows of Nextcloud (v2), from their start until the app has its answer.
      CREATE TABLE account.logins (
        poll_hash bytea NOT NULL,
        login_hash bytea NOT NULL,
        user_agent text NOT NULL,
        address text NOT NULL,
        -- The network of the address, for rate limits.
        network text NOT NULL,
        server text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        -- The account that granted access; NULL until then.
        account_id uuid,
        -- The app password that the last poll created. A repeated poll replaces it for a minute.
        credential_id uuid,
        -- Time of the first poll that returned an app password.
        answered_at timestamptz,
        CONSTRAINT logins_pkey PRIMARY KEY (poll_hash),
        CONSTRAINT logins_account_fkey FOREIGN KEY (account_id)
          REFERENCES account.accounts (id) ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX logins_login_key ON account.logins (login_hash);
      CREATE INDEX logins_account ON account.logins (account_id);
      CREATE INDEX logins_expiry ON account.logins (expires_at);

      -- OAuth clients from dynamic registration (RFC 7591).
      CREATE TABLE account.clients (
        id text NOT NULL,
        payload jsonb NOT NULL,
        -- The network of the address that registered the client, for rate limits.
        network text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        -- Time of the last consent, to the hour. A client without consent is deleted after a day.
        used_at timestamptz,
        CONSTRAINT clients_pkey PRIMARY KEY (id)
      );
      CREATE INDEX clients_unused ON account.clients (created_at) WHERE used_at IS NULL;

      -- State of the issuer: codes, tokens, grants, interactions, sessions. The id is the SHA-256
      -- of the value that a client has; the payload never contains that value.
      CREATE TABLE account.oidc (
        model text NOT NULL,
        id bytea NOT NULL,
        grant_id text,
        account_id uuid,
        user_code bytea,
        -- The address of the client whose request waits for a person's consent.
        address text,
        -- The network of that address, for rate limits; NULL after the person decided.
        network text,
        payload jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        consumed_at timestamptz,
        CONSTRAINT oidc_pkey PRIMARY KEY (model, id)
      );
      CREATE INDEX oidc_grant ON account.oidc (grant_id, model, created_at);
      CREATE INDEX oidc_account ON account.oidc (account_id, model, created_at);
      CREATE INDEX oidc_user_code ON account.oidc (user_code);
      CREATE INDEX oidc_network ON account.oidc (model, network) WHERE network IS NOT NULL;
      -- The sweep finds clients without a grant by this index.
      CREATE INDEX oidc_client ON account.oidc ((payload ->> 'clientId')) WHERE model = 'Grant';
      CREATE INDEX oidc_expiry ON account.oidc (expires_at);

      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA account
        TO podcast_sync_account_group;

      -- Notices about changes that the account page shows. They are deleted with their account.
      CREATE TABLE account.notices (
        account_id uuid NOT NULL,
        id uuid NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        kind text NOT NULL,
        -- Name of the app password or passkey that the change is about; NULL for other changes.
        label text,
        address text NOT NULL,
        user_agent text NOT NULL,
        CONSTRAINT notices_pkey PRIMARY KEY (account_id, id),
        CONSTRAINT notices_kind CHECK (kind IN (
          'password', 'second_factor_off', 'recovery_codes', 'app_password', 'sign_in', 'email',
          'appointed', 'dismissed', 'passkey', 'passkey_removed'
        )),
        CONSTRAINT notices_account_fkey FOREIGN KEY (account_id)
          REFERENCES account.accounts (id) ON DELETE CASCADE
      );
      GRANT SELECT, INSERT, DELETE ON account.notices TO podcast_sync_account_group;

      -- Called by the deletion worker (EXECUTE is granted to podcast_sync_deletion_group). Deletes
      -- up to p_limit rows of a user, the account last, and returns their number. Less than p_limit
      -- means that all rows are deleted.
      CREATE FUNCTION account.erase_user(p_user uuid, p_limit integer) RETURNS integer
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
      DECLARE
        v_left integer := p_limit;
        v_rows integer;
        v_table text;
      BEGIN
        -- Locks rows in the order of a sign-out before it deletes any. NO KEY UPDATE does not block
        -- inserts that reference the account, because these can hold locks that the next
        -- statements wait for.
        PERFORM FROM account.accounts a WHERE a.id = p_user FOR NO KEY UPDATE;
        PERFORM FROM account.logins l WHERE l.account_id = p_user ORDER BY l.poll_hash FOR UPDATE;
        -- Waits for running inserts under a grant, so that the statements below see their rows.
        -- No later insert can use the grant.
        PERFORM FROM account.oidc o
        WHERE o.account_id = p_user AND o.model = 'Grant' ORDER BY o.id FOR UPDATE;
        PERFORM FROM account.credentials c WHERE c.account_id = p_user ORDER BY c.id FOR UPDATE;
        FOREACH v_table IN ARRAY ARRAY[
          'settings', 'devices', 'gpodder_sessions', 'credentials', 'passkeys', 'sessions',
          'recovery_codes', 'links', 'logins', 'oidc'
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
          DELETE FROM feed.imports WHERE user_id = p_user;
          DELETE FROM account.accounts WHERE id = p_user;
          GET DIAGNOSTICS v_rows = ROW_COUNT; v_left := v_left - v_rows;
        END IF;
        RETURN p_limit - v_left;
      END $$;
      REVOKE EXECUTE ON FUNCTION account.erase_user(uuid, integer) FROM PUBLIC;
      GRANT EXECUTE ON FUNCTION account.erase_user(uuid, integer) TO podcast_sync_deletion_group;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP SCHEMA account CASCADE');
  }
}
