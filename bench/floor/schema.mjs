/** The tables: clock and totals per user, markers of writes, subscriptions, episodes, states. */
export const schema = `
  CREATE SCHEMA floor;
  CREATE TABLE floor.clocks (
    user_id uuid PRIMARY KEY,
    clock timestamptz(3) NOT NULL
  ) WITH (fillfactor = 70);
  CREATE TABLE floor.totals (
    user_id uuid PRIMARY KEY,
    subscriptions integer NOT NULL DEFAULT 0,
    episodes integer NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70);
  CREATE TABLE floor.markers (
    user_id uuid,
    request_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, request_id)
  );
  CREATE TABLE floor.subscriptions (
    user_id uuid,
    id bigint GENERATED ALWAYS AS IDENTITY,
    guid uuid NOT NULL,
    feed_url text NOT NULL,
    is_subscribed boolean NOT NULL,
    changed timestamptz(3) NOT NULL,
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, guid)
  );
  CREATE INDEX ON floor.subscriptions (user_id, changed);
  CREATE TABLE floor.episodes (
    user_id uuid,
    id bigint GENERATED ALWAYS AS IDENTITY,
    podcast_guid uuid NOT NULL,
    sync_id text NOT NULL,
    episode_guid text,
    title text,
    publish_date timestamptz,
    enclosure_url text,
    episode_url text,
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, sync_id)
  );
  CREATE TABLE floor.states (
    user_id uuid,
    id bigint,
    changed timestamptz(3) NOT NULL,
    playback_position bigint,
    playback_position_at timestamptz(3),
    played_status boolean,
    played_status_at timestamptz(3),
    new_status boolean,
    new_status_at timestamptz(3),
    download_status boolean,
    download_status_at timestamptz(3),
    favorite_status boolean,
    favorite_status_at timestamptz(3),
    PRIMARY KEY (user_id, id)
  ) WITH (fillfactor = 70);
  CREATE INDEX ON floor.states (user_id, changed);
`;
