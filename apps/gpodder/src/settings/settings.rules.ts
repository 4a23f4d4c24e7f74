import { Failure, settingLimits } from '#contracts';

/** A change of settings; `remove` applies after `set`. */
export interface SettingChanges {
  readonly set: Readonly<Record<string, unknown>>;
  readonly remove: readonly string[];
}

/** The episode setting that is stored as the favourite status, which all apps share. */
export const favorite = 'is_favorite';

/** Parses a change of settings. @throws Failure `invalid` for wrong types or too many keys. */
export function readSettingChanges({
  set = {},
  remove = [],
}: Readonly<Record<string, unknown>>): SettingChanges {
  if (typeof set !== 'object' || set === null || Array.isArray(set)) throw new Failure('invalid');
  if (!Array.isArray(remove) || remove.some((key) => typeof key !== 'string'))
    throw new Failure('invalid');
  if (Object.keys(set).length > settingLimits.keys || remove.length > settingLimits.keys)
    throw new Failure('invalid');
  return { set: set as Record<string, unknown>, remove: remove as string[] };
}

/** Checks a change against the limits of a scope. @throws Failure `invalid` */
export function checkSettingLimits({ set, remove }: SettingChanges): void {
  if (Object.keys(set).some((key) => [...key].length > settingLimits.key))
    throw new Failure('invalid');
  const removed = new Set(remove);
  const stored = Object.fromEntries(Object.entries(set).filter(([key]) => !removed.has(key)));
  const bytes = Buffer.byteLength(JSON.stringify(stored));
  if (Object.keys(stored).length > settingLimits.keys || bytes > settingLimits.scopeBytes)
    throw new Failure('invalid');
}

/**
 * Splits the setting `is_favorite` from a change of an episode's settings.
 *
 * @returns the new favourite status, `undefined` for no change, and the other changes.
 * @throws Failure `invalid` if it is not a boolean.
 */
export function splitFavorite({
  set,
  remove,
}: SettingChanges): { favorite: boolean | undefined } & SettingChanges {
  const { [favorite]: sent, ...others } = set;
  if (sent !== undefined && typeof sent !== 'boolean') throw new Failure('invalid');
  return {
    favorite: remove.includes(favorite) ? false : sent,
    set: others,
    remove: remove.filter((key) => key !== favorite),
  };
}
