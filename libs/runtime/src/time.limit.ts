/**
 * Waits for a promise, but no longer than `limitMs`. What becomes of it afterwards is ignored.
 *
 * @throws what the promise rejects with; what `late` makes once the time is up, by default an `Error` that says so.
 */
export function withTimeLimit<Result>(
  work: Promise<Result>,
  limitMs: number,
  late: () => Error = () => new Error(`no answer within ${limitMs} ms`),
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(limitMs, 0));
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
