import { type changeSettings, Failure, type ReplyOf, settingLimits } from '#contracts';

/** Settings of one scope: whatever JSON clients keep, by its key. */
export type Values = ReplyOf<typeof changeSettings>['settings'];

/** What a scope counts for beside its JSON in the user's limit, in bytes: scopes are no way around it. */
const scopeCost = 128;

/**
 * Settings after a change: what is set comes before what is removed.
 *
 * @throws Failure `invalid` beyond a limit of the scope.
 */
export function changed(
  current: Values,
  set: Values,
  remove: readonly string[],
): { settings: Values; text: string; bytes: number } {
  if (Object.keys(set).some((key) => [...key].length > settingLimits.key)) throw new Failure('invalid');
  const removed = new Set(remove);
  const settings = Object.fromEntries(Object.entries({ ...current, ...set }).filter(([key]) => !removed.has(key)));
  const keys = Object.keys(settings).length;
  const text = JSON.stringify(settings);
  const length = Buffer.byteLength(text);
  if (keys > settingLimits.keys || length > settingLimits.scopeBytes) throw new Failure('invalid');
  return { settings, text, bytes: keys === 0 ? 0 : length + scopeCost };
}
