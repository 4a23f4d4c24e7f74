import { type changeSettings, Failure, type ReplyOf, settingLimits } from '#contracts';

/** Settings of one scope: arbitrary JSON by key. */
export type Values = ReplyOf<typeof changeSettings>['settings'];

/** Bytes that each scope adds to its JSON in the user's limit, so many small scopes count too. */
const scopeCost = 128;

/** Returns the settings after a change, which sets before it removes. @throws Failure `invalid`. */
export function changed(
  current: Values,
  set: Values,
  remove: readonly string[],
): { settings: Values; text: string; bytes: number } {
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
  return { settings, text, bytes: keys === 0 ? 0 : length + scopeCost };
}
