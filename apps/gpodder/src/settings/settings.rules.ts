import { Failure, settingLimits } from '#contracts';

/** A change of settings: values to set, then keys to remove. */
export interface SettingChanges {
  readonly set: Readonly<Record<string, unknown>>;
  readonly remove: readonly string[];
}

/** Key of the episode setting that is stored as the episode's favourite status. */
export const favoriteKey = 'is_favorite';

/** Parses a change of settings. @throws Failure `invalid` for wrong types or too many keys. */
export function parseSettingChanges({
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

/** Checks a change against the limits of settings. @throws Failure `invalid` above a limit. */
export function checkSettingLimits({ set, remove }: SettingChanges): void {
  if (Object.keys(set).some((key) => [...key].length > settingLimits.key))
    throw new Failure('invalid');
  const removedKeys = new Set(remove);
  const storedSettings = Object.fromEntries(
    Object.entries(set).filter(([key]) => !removedKeys.has(key)),
  );
  const jsonBytes = Buffer.byteLength(JSON.stringify(storedSettings));
  if (
    Object.keys(storedSettings).length > settingLimits.keys ||
    jsonBytes > settingLimits.scopeBytes
  )
    throw new Failure('invalid');
}

/**
 * Splits the setting `is_favorite` from a change of an episode's settings.
 *
 * @returns the new favourite status, `undefined` for no change, and the other changes.
 * @throws Failure `invalid` for a value of `is_favorite` that is not a boolean.
 */
export function splitFavorite({
  set,
  remove,
}: SettingChanges): { favorite: boolean | undefined } & SettingChanges {
  const { [favoriteKey]: sentFavorite, ...others } = set;
  if (sentFavorite !== undefined && typeof sentFavorite !== 'boolean') throw new Failure('invalid');
  return {
    favorite: remove.includes(favoriteKey) ? false : sentFavorite,
    set: others,
    remove: remove.filter((key) => key !== favoriteKey),
  };
}
