import { JoinColumn } from 'typeorm';

/**
 * Joins a row of the same user: the foreign key has `user_id` and another column.
 *
 * @param references the property that `column` references.
 */
export function JoinOfUser(
  foreignKeyConstraintName: string,
  column: string,
  references: string,
): PropertyDecorator {
  return JoinColumn([
    { name: 'user_id', referencedColumnName: 'userId', foreignKeyConstraintName },
    { name: column, referencedColumnName: references, foreignKeyConstraintName },
  ]);
}
