import { type changeSettings, Failure, type ReplyOf, settingLimits } from '#contracts';

/** Settings of one scope: arbitrary JSON by key. */
export type SettingValues = ReplyOf<typeof changeSettings>['settings'];

/** Bytes of a scope that count towards the user's limit in addition to its JSON, for its row. */
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
  const removed = new Set(remove);
  const settings = Object.fromEntries(
    Object.entries({ ...current, ...set }).filter(([key]) => !removed.has(key)),
  );
  const keys = Object.keys(settings).length;
  const text = JSON.stringify(settings);
  const length = Buffer.byteLength(text);
  if (keys > settingLimits.keys || length > settingLimits.scopeBytes) throw new Failure('invalid');
  return { settings, text, bytes: keys === 0 ? 0 : length + bytesPerScope };
}
