import { ApiError } from './errors.js';
import { pause, type Sending } from './sending.js';

/** Milliseconds without data that end a stream. The server sends a comment every 25 s. */
const silenceLimit = 60_000;

/** Time limit for opening a stream, in milliseconds. */
const openLimit = 30_000;

/** Line length at which the stream ends as invalid, in characters. */
const longestLine = 1_024;

/**
 * Yields the user's clock from one stream of `GET /changes` (server-sent events): the current
 * value, then each new value. Ends when the server ends it, the connection breaks or no data
 * arrives for a minute.
 *
 * @throws ApiError when the stream cannot be opened: `not_found` if the server has none,
 * `unexpected` if the platform's `fetch` cannot read a response in parts. Poll in these cases.
 */
export async function* changes(
  sending: Sending,
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const connection = new AbortController();
  const abort = () => connection.abort();
  signal?.addEventListener('abort', abort);
  try {
    const answer = await sending.opened(
      { method: 'GET', path: '/changes', type: 'text/event-stream', signal },
      connection,
      openLimit,
    );
    if (!answer.body) throw new ApiError('unexpected', 'Streams can not be read here');
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    let event: Event = {};
    for (;;) {
      const chunk = await heard(reader, connection.signal);
      if (!chunk) return;
      const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? '';
      if (rest.length > longestLine) return;
      for (const line of lines) {
        if (line !== '') event = withLine(event, line);
        else {
          if (event.type === 'changed' && event.data !== undefined) yield event.data;
          event = {};
        }
      }
    }
  } finally {
    signal?.removeEventListener('abort', abort);
    connection.abort();
  }
}

interface Event {
  type?: string;
  data?: string;
}

function withLine(event: Event, line: string): Event {
  const [, field, value = ''] = /^(event|data):? ?(.*)$/.exec(line) ?? [];
  if (field === 'event') return { ...event, type: value };
  return field === 'data' ? { ...event, data: value } : event;
}

/** Returns the next bytes, or `undefined` after the end of the stream for any reason. */
async function heard(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  signal: AbortSignal,
): Promise<Uint8Array | undefined> {
  const silence = new AbortController();
  const stop = () => silence.abort();
  signal.addEventListener('abort', stop);
  try {
    const nothing = pause(silenceLimit, silence.signal).then(
      () => ({ value: undefined }),
      () => ({ value: undefined }),
    );
    const { value } = await Promise.race([
      reader.read().catch(() => ({ value: undefined })),
      nothing,
    ]);
    return value;
  } finally {
    signal.removeEventListener('abort', stop);
    silence.abort();
  }
}
