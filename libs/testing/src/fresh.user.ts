import { randomUUID } from 'node:crypto';

/** A user id that no other test uses: tests share tables and never empty them. */
export function freshUser(): string {
  return randomUUID();
}
