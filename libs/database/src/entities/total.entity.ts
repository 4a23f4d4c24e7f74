import { Check, Column, Entity, PrimaryColumn } from 'typeorm';

/** How many episodes a user has; triggers of `episode.episodes` keep it. */
@Entity({ schema: 'episode', name: 'totals' })
@Check('totals_are_no_debts', 'episodes >= 0')
export class TotalEntity {
  @PrimaryColumn({ name: 'user_id', type: 'uuid' })
  userId!: string;

  @Column({ type: 'bigint' })
  episodes!: number;
}
