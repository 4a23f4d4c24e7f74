/**
 * Returns the result of a promise that settles within `limitMs` milliseconds. A later result or
 * rejection is ignored.
 *
 * @throws the promise's rejection; after the limit the error that `createError` returns.
 */
export function withTimeLimit<Result>(
  work: Promise<Result>,
  limitMs: number,
  createError: () => Error = () => new Error(`no answer within ${limitMs} ms`),
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(createError()), Math.max(limitMs, 0));
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}
