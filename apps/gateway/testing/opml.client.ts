import { setImmediate as nextTick } from 'node:timers/promises';
import { readOpml } from '#opml';
import type { AppProcess, Device } from '#testing';

/** The verdicts of an import. */
interface Verdicts {
  success: { feed_url: string; guid: string; subscription_changed: string }[];
  failure: { feed_url: string; code: string }[];
}

/** An answer as it came. */
interface OpmlAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  verdicts(): Verdicts;
}

type Body = string | Uint8Array<ArrayBuffer>;

/** The URL of a feed for each number. */
export const feed = (n: number) => `https://feeds.example/${n}.xml`;
export const feeds = (count: number) => Array.from({ length: count }, (_, n) => feed(n));

/** The feeds of a list. */
export async function urlsOf(text: string): Promise<string[]> {
  return (await readOpml(Buffer.from(text), nextTick)).feeds.map(({ feedUrl }) => feedUrl);
}

/** Sends and asks for lists of feeds, for devices of anybody; expects nothing. */
export class OpmlClient {
  constructor(private readonly gateway: () => Pick<AppProcess, 'facts'>) {}

  readonly ask = async (
    device: Device | undefined,
    method: string,
    target: string,
    { body, headers = {} }: { body?: Body; headers?: Record<string, string> } = {},
  ): Promise<OpmlAnswer> => {
    const response = await fetch(
      `http://127.0.0.1:${String(this.gateway().facts['port'])}${target}`,
      {
        method,
        headers: {
          ...(device && { authorization: `Bearer ${device.token}` }),
          ...(body !== undefined && { 'content-type': 'text/x-opml' }),
          ...headers,
        },
        ...(body !== undefined && { body }),
      },
    );
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      verdicts: () => JSON.parse(text) as Verdicts,
    };
  };

  /** Imports. */
  readonly send = (
    device: Device,
    body: Body,
    headers: Record<string, string> = {},
  ): Promise<OpmlAnswer> => this.ask(device, 'POST', '/subscriptions/opml', { body, headers });

  /** The feeds of an export. @throws Error where it is none. */
  readonly exported = async (device: Device): Promise<string[]> => {
    const { status, text } = await this.ask(device, 'GET', '/subscriptions.opml');
    if (status !== 200) throw new Error(`${status}: ${text.slice(0, 1_000)}`);
    return urlsOf(text);
  };
}
