import { ApiError } from './errors.js';
import { type RequestSender, withTimeLimit } from './request-sender.js';

/** Milliseconds without data after which a stream ends. The server sends a comment every 25 s. */
const maxSilence = 60_000;

/** Time limit for opening a stream, in milliseconds. */
const openTimeLimit = 30_000;

/** Maximum length of a line in characters. A longer line ends the stream. */
const maxLineLength = 1_024;

/**
 * Yields the `Sync-Timestamp` of the user from one stream of `GET /changes` (server-sent events):
 * the current one, then a new one after each change. The iteration ends when the server ends the
 * stream, the connection breaks or no data arrives for a minute.
 *
 * @throws ApiError when the stream cannot be opened: `not_found` if the server has no
 * change streams, `unexpected` if the platform's `fetch` has no response streams. Then poll.
 */
export async function* readChangeStream(
  sender: RequestSender,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const streamController = new AbortController();
  const abortStream = () => streamController.abort();
  signal?.addEventListener('abort', abortStream);
  try {
    const response = await withTimeLimit(openTimeLimit, signal, () =>
      sender.open(
        { method: 'GET', path: '/changes', type: 'text/event-stream' },
        streamController.signal,
      ),
    );
    if (!response.body)
      throw new ApiError('unexpected', 'The platform does not support streams: poll');
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let incompleteLine = '';
    // Fields of the event that is not complete yet. Comments and other fields are ignored.
    let event: { event?: string; data?: string } = {};
    for (;;) {
      const { value: chunk } = await withTimeLimit(maxSilence, streamController.signal, () =>
        reader.read(),
      ).catch(() => ({ value: undefined }));
      if (!chunk) return;
      const lines = (incompleteLine + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
      incompleteLine = lines.pop() ?? '';
      if (incompleteLine.length > maxLineLength) return;
      for (const line of lines) {
        const [, field, value = ''] = /^(event|data):? ?(.*)$/.exec(line) ?? [];
        if (field !== undefined) event = { ...event, [field]: value };
        if (line !== '') continue;
        if (event.event === 'changed' && event.data !== undefined) yield event.data;
        event = {};
      }
    }
  } finally {
    signal?.removeEventListener('abort', abortStream);
    streamController.abort();
  }
}
