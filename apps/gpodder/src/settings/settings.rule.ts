import { Failure, settingLimits } from '#contracts';

/** A change of settings: what is set comes before what is removed. */
export interface SettingChanges {
  readonly set: Readonly<Record<string, unknown>>;
  readonly remove: readonly string[];
}

/** The setting of an episode that is a status, which all apps share. */
export const favorite = 'is_favorite';

/**
 * Reads a change of settings.
 *
 * @throws Failure `invalid` where a part is none or has more keys than a scope, or a key of `remove` is no text.
 */
export function readSettingChanges({ set = {}, remove = [] }: Readonly<Record<string, unknown>>): SettingChanges {
  if (typeof set !== 'object' || set === null || Array.isArray(set)) throw new Failure('invalid');
  if (!Array.isArray(remove) || remove.some((key) => typeof key !== 'string')) throw new Failure('invalid');
  if (Object.keys(set).length > settingLimits.keys || remove.length > settingLimits.keys) throw new Failure('invalid');
  return { set: set as Record<string, unknown>, remove: remove as string[] };
}

/**
 * Refuses what is beyond a limit even of a scope that is empty, before anything is made known that settings are of.
 *
 * @throws Failure `invalid`
 */
export function limitSettings({ set, remove }: SettingChanges): void {
  if (Object.keys(set).some((key) => [...key].length > settingLimits.key)) throw new Failure('invalid');
  const removed = new Set(remove);
  const kept = Object.fromEntries(Object.entries(set).filter(([key]) => !removed.has(key)));
  const bytes = Buffer.byteLength(JSON.stringify(kept));
  if (Object.keys(kept).length > settingLimits.keys || bytes > settingLimits.scopeBytes) throw new Failure('invalid');
}

/**
 * Takes the favourite out of a change of an episode's settings.
 *
 * @returns what becomes of it, `undefined` where nothing does; and the change without it.
 * @throws Failure `invalid` where it is neither true nor false.
 */
export function withoutFavorite({ set, remove }: SettingChanges): { favorite: boolean | undefined } & SettingChanges {
  const { [favorite]: sent, ...others } = set;
  if (sent !== undefined && typeof sent !== 'boolean') throw new Failure('invalid');
  return {
    favorite: remove.includes(favorite) ? false : sent,
    set: others,
    remove: remove.filter((key) => key !== favorite),
  };
}
