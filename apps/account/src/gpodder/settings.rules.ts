import { type changeSettings, Failure, type ReplyOf, settingLimits } from '#contracts';

/** Settings of one scope: arbitrary JSON by key. */
export type SettingValues = ReplyOf<typeof changeSettings>['settings'];

/** Bytes that a scope counts towards the user's limit in addition to its JSON, for its row. */
const bytesPerScope = 128;

/**
 * Returns the settings of a scope after a change, their JSON, and the bytes that count towards the
 * user's limit. A key in both `set` and `remove` is removed.
 *
 * @throws Failure `invalid` if a key is too long, or the scope has too many keys or bytes.
 */
export function applySettingsChange(
  current: SettingValues,
  set: SettingValues,
  remove: readonly string[],
): { settings: SettingValues; text: string; bytes: number } {
  if (Object.keys(set).some((key) => [...key].length > settingLimits.key))
    throw new Failure('invalid');
  const removedKeys = new Set(remove);
  const settings = Object.fromEntries(
    Object.entries({ ...current, ...set }).filter(([key]) => !removedKeys.has(key)),
  );
  const keyCount = Object.keys(settings).length;
  const json = JSON.stringify(settings);
  const jsonBytes = Buffer.byteLength(json);
  if (keyCount > settingLimits.keys || jsonBytes > settingLimits.scopeBytes)
    throw new Failure('invalid');
  return { settings, text: json, bytes: keyCount === 0 ? 0 : jsonBytes + bytesPerScope };
}
