import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { episodeStatuses, statusNames, wireNames } from '#contracts';

const isWhole = statusNames.map(
  (name) => `(${wireNames[name]} IS NULL) = (${wireNames[name]}_at IS NULL)`,
);

/**
 * The statuses of an episode ({@link episodeStatuses}): a value and a client's time (`…_at`), or
 * neither. `minute_forms` has a bit for each time that was given to the minute only. The table is
 * narrow and has no index that finds an episode, as its rows change most often.
 */
@Entity({ schema: 'episode', name: 'states' })
@Index('states_changed', ['userId', 'changed'])
@Index('states_favorites', ['userId', 'id'], { where: 'favorite_status' })
@Check('states_status_is_whole', isWhole.join(' AND '))
export class StateEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  /** The id of the episode. */
  @PrimaryColumn({ type: 'bigint' })
  id!: number;

  /** The sync_id of the episode, its lookup key. */
  @Column({ name: 'sync_id', type: 'uuid' })
  syncId!: string;

  /** The stamp of the last accepted change, never a client's time. `since` is compared with it. */
  @Column({ type: 'timestamp with time zone', precision: 3 })
  changed!: Date;

  @Column({ name: 'minute_forms', type: 'smallint', default: 0 })
  minuteForms!: number;
}

for (const name of statusNames) {
  const column = wireNames[name];
  Column({ name: column, type: episodeStatuses[name].columnType, nullable: true })(
    StateEntity.prototype,
    name,
  );
  Column({ name: `${column}_at`, type: 'timestamp with time zone', nullable: true })(
    StateEntity.prototype,
    `${name}At`,
  );
}
