import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { dataUserSchema, type DataUser } from '#contracts';
import { parseJson } from '#runtime';
import { type IdentityConfig, issuerAliases, userId } from './user-id.js';

/** A user in a file that an operator passes to a program. */
export interface NamedUser {
  readonly id: string;
  /** The user as named in the file, because `id` does not show the issuer and subject. */
  readonly name: Readonly<DataUser>;
}

/** Thrown for a line that contains neither a user's id nor an issuer and a subject. */
export class UnknownUserLine extends Error {}

/** Reads users, one per line (docs/reference/data.md). @throws UnknownUserLine for other lines. */
export async function* usersIn(
  input: Readable,
  path: string,
  config: IdentityConfig,
): AsyncGenerator<NamedUser> {
  let lineNumber = 0;
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    lineNumber += 1;
    if (line.trim() === '') continue;
    const name = dataUserSchema.safeParse(parseJson(line)).data;
    if (!name)
      throw new UnknownUserLine(
        `line ${lineNumber} of ${path} is neither {"issuer","subject"} nor {"id"}`,
      );
    yield { id: namedUserId(name, config), name };
  }
}

/** Returns the id of a user who is given by id, or by issuer and subject. */
export function namedUserId(name: Readonly<DataUser>, config: IdentityConfig): string {
  if ('id' in name) return name.id;
  const issuer = issuerAliases(config.AUTH_ISSUER_ALIASES).get(name.issuer) ?? name.issuer;
  return userId(issuer, name.subject, config.AUTH_OWN_ISSUER);
}
