import { ApiError } from './errors.js';
import { pause, type Sending } from './sending.js';

/** A stream that is silent for so long is dead: the server sends a comment every 25 seconds. In milliseconds. */
const silenceLimit = 60_000;

/** How long the server has to open a stream, in milliseconds. */
const openLimit = 30_000;

/** The longest line that is no nonsense. */
const longestLine = 1_024;

/**
 * One stream of `GET /changes` (server-sent events): yields the user's clock, first as it stands now and then whenever
 * it has moved. Ends when the server ends it, the connection breaks or nothing is heard any more.
 *
 * @throws ApiError when it can't be opened: `not_found` by a server that has none, `unexpected` where the platform's
 * `fetch` can't read an answer bit by bit; then ask from time to time.
 */
export async function* changes(sending: Sending, signal?: AbortSignal): AsyncGenerator<string, void, undefined> {
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

/** The next bytes; nothing when the stream has ended, for whatever reason. */
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
    const { value } = await Promise.race([reader.read().catch(() => ({ value: undefined })), nothing]);
    return value;
  } finally {
    signal.removeEventListener('abort', stop);
    silence.abort();
  }
}
