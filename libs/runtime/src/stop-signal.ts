/** Milliseconds in which a second signal counts as the first one: npm repeats a Ctrl-C. */
const sameSignalMs = 1_000;

/**
 * Runs a function that cleans up after an abort, which SIGINT and SIGTERM cause. A signal more than
 * a second later ends the process immediately.
 *
 * @returns the result of the function.
 * @throws Error with the name of the signal; otherwise the error of the function.
 */
export async function withStopSignal<Result>(
  run: (stopped: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const stopListening = () => {
    for (const signal of signals) process.removeListener(signal, stop);
  };
  const stop = (signal: NodeJS.Signals) => {
    controller.abort(new Error(`stopped by ${signal}`));
    setTimeout(stopListening, sameSignalMs).unref();
  };
  for (const signal of signals) process.on(signal, stop);
  try {
    return await run(controller.signal);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    stopListening();
  }
}
