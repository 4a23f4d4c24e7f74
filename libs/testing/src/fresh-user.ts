import { randomUUID } from 'node:crypto';

/** Returns a new user id, because tests share tables and never empty them. */
export function freshUser(): string {
  return randomUUID();
}
