/**
 * Waits for a promise for at most `limitMs` milliseconds. A later outcome is ignored.
 *
 * @throws the promise's rejection; after the limit the error of `late`, by default an `Error`.
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
