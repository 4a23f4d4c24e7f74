/** Time in ms for which further signals are ignored, because npm repeats a Ctrl-C. */
const sameSignalMs = 1_000;

/**
 * Runs a function until it ends. SIGINT or SIGTERM aborts `stopped`; the function must then clean
 * up. A further signal, at least a second later, ends the process immediately.
 *
 * @returns the result of the function.
 * @throws the error of the function; after a signal, an Error with the name of the signal instead.
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
