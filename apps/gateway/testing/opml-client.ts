import { setImmediate as nextTick } from 'node:timers/promises';
import { readOpml } from '#opml';
import type { AppProcess, Device } from '#testing';

/** Answer to an OPML import: accepted and rejected feeds. */
interface Verdicts {
  success: { feed_url: string; guid: string; subscription_changed: string }[];
  failure: { feed_url: string; code: string }[];
}

/** An answer with its text. */
interface OpmlAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  verdicts(): Verdicts;
}

type Body = string | Uint8Array<ArrayBuffer>;

/** Returns the URL of the feed with a number. */
export const feed = (n: number) => `https://feeds.example/${n}.xml`;
export const feeds = (count: number) => Array.from({ length: count }, (_, n) => feed(n));

/** Returns the feeds of an OPML document. */
export async function urlsOf(text: string): Promise<string[]> {
  return (await readOpml(Buffer.from(text), nextTick)).feeds.map(({ feedUrl }) => feedUrl);
}

/** Imports and exports OPML for any device, without assertions. */
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

  /** Imports a document. */
  readonly send = (
    device: Device,
    body: Body,
    headers: Record<string, string> = {},
  ): Promise<OpmlAnswer> => this.ask(device, 'POST', '/subscriptions/opml', { body, headers });

  /** Returns the exported feeds. @throws Error for another status than 200. */
  readonly exported = async (device: Device): Promise<string[]> => {
    const { status, text } = await this.ask(device, 'GET', '/subscriptions.opml');
    if (status !== 200) throw new Error(`${status}: ${text.slice(0, 1_000)}`);
    return urlsOf(text);
  };
}
