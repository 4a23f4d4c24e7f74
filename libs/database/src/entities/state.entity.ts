import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { episodeStatuses, statusNames, wireNames } from '#contracts';

const isWhole = statusNames.map((name) => `(${wireNames[name]} IS NULL) = (${wireNames[name]}_at IS NULL)`);

/**
 * The state of one episode for one user. A status is a value and the client's time of it (`…_at`), both or neither;
 * `minute_forms` has a bit for each status whose time was given to the minute only. The columns of the statuses are
 * those of {@link episodeStatuses}. Narrow, and with no index that finds an episode: it is what changes all the time.
 */
@Entity({ schema: 'episode', name: 'states' })
@Index('states_changed', ['userId', 'changed'])
@Index('states_favorites', ['userId', 'id'], { where: 'favorite_status' })
@Check('states_status_is_whole', isWhole.join(' AND '))
export class StateEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  /** That of the episode. */
  @PrimaryColumn({ type: 'bigint' })
  id!: number;

  /** That of the episode, which is found by it. */
  @Column({ name: 'sync_id', type: 'uuid' })
  syncId!: string;

  /** The stamp of the last accepted change, never a client's time: what `since` is compared with. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  changed!: Date;

  @Column({ name: 'minute_forms', type: 'smallint', default: 0 })
  minuteForms!: number;
}

for (const name of statusNames) {
  const column = wireNames[name];
  Column({ name: column, type: episodeStatuses[name].columnType, nullable: true })(StateEntity.prototype, name);
  Column({ name: `${column}_at`, type: 'timestamp with time zone', nullable: true })(
    StateEntity.prototype,
    `${name}At`,
  );
}
