import { getEventListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DnsServer } from '../testing/dns-server.js';
import { FeedServer } from '../testing/feed-server.js';
import { AddressGuard, type FetchedResponse, Fetcher, type FetcherOptions } from './index.js';

let server: FeedServer;
let dns: DnsServer;

beforeAll(async () => {
  server = await FeedServer.open();
  dns = await DnsServer.open();
});

afterAll(async () => {
  await server.close();
  await dns.close();
});

/** Returns a fetcher that reaches the test's server by its address, and no other address. */
function openFetcher(limits: FetcherOptions['limits'] = {}): Fetcher {
  const guard = new AddressGuard([`127.0.0.1:${server.port}`]);
  return new Fetcher({ userAgent: 'Test', guard, limits, dnsServers: [dns.address] });
}

/** Returns a fetcher that reaches public addresses only, on the port of the test's server, too. */
function openStrict(): Fetcher {
  const guard = new AddressGuard([], [80, 443, server.port]);
  return new Fetcher({ userAgent: 'Test', guard, dnsServers: [dns.address] });
}

async function textOf({ body }: FetchedResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function sizeOf({ body }: FetchedResponse): Promise<number> {
  let bytes = 0;
  for await (const chunk of body) bytes += chunk.length;
  return bytes;
}

/** Redirects a path to another. */
function redirect(from: string, to: string, status = 301): string {
  return server.on(from, (_, response) => {
    response.writeHead(status, { location: to }).end('moved');
  });
}

describe('addresses', () => {
  const addresses = [
    '0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 192.0.0.1',
    '192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 240.0.0.1',
    '255.255.255.255 [::] [::1] [::7f00:1] [::ffff:127.0.0.1] [64:ff9b::7f00:1] [100::1]',
    '[2001:db8::1] [2002:7f00:1::] [2001::1] [fd00::1] [fe80::1] [ff02::1]',
  ].flatMap((line) => line.split(' '));
  const forms = [
    '2130706433 0x7f000001 017700000001 127.1 0177.0.0.1 0x7f.0.0.1 127.0.0.1.',
    '[0:0:0:0:0:ffff:7f00:1] １２７.0.0.1 localhost',
  ].flatMap((line) => line.split(' '));

  it.each([...addresses, ...forms])('refuses %s without a connection', async (host) => {
    const before = server.connections;
    const fetched = openStrict().fetch({ url: `http://${host}:${server.port}/` }, textOf);
    await expect(fetched).rejects.toMatchObject({ fault: 'refused' });
    expect(server.connections).toBe(before);
  });

  it.each([
    ['a private address', ['127.0.0.1']],
    ['a private address next to a public one', ['8.8.8.8', '127.0.0.1']],
    ['a private IPv6 address next to a public one', ['8.8.8.8', '::1']],
    ['an embedded IPv4 address', ['::7f00:1']],
  ])('refuses a name with %s', async (_, answer) => {
    dns.on('feeds.example.org', answer);
    const before = server.connections;
    const url = server.url('/', 'feeds.example.org');
    await expect(openStrict().fetch({ url }, textOf)).rejects.toMatchObject({ fault: 'refused' });
    expect(server.connections).toBe(before);
  });

  it('connects to the address that it checked', async () => {
    // The first lookup gets an allowed address, each later one another (DNS rebinding).
    dns.on('rebinding.example.org', (question) => [question < 2 ? '127.0.0.1' : '127.0.0.2']);
    server.on('/rebound', (_, response) => response.end('first'));
    const url = server.url('/rebound', 'rebinding.example.org');
    expect(await openFetcher().fetch({ url }, textOf)).toBe('first');
    expect(dns.questions.get('rebinding.example.org')).toBe(2);
    await expect(openFetcher().fetch({ url }, textOf)).rejects.toMatchObject({ fault: 'refused' });
  });

  it('reaches a host with IPv6 only', async () => {
    const six = await FeedServer.open('::1');
    six.on('/', (_, response) => response.end('six'));
    dns.on('six.example.org', ['::1']);
    const guard = new AddressGuard([`[::1]:${six.port}`]);
    const fetcher = new Fetcher({ userAgent: 'Test', guard, dnsServers: [dns.address] });
    expect(await fetcher.fetch({ url: six.url('/', 'six.example.org') }, textOf)).toBe('six');
    await six.close();
  });

  it('resolves an allowed name with the system', async () => {
    server.on('/local', (_, response) => response.end('local'));
    const guard = new AddressGuard([`localhost:${server.port}`]);
    const fetcher = new Fetcher({ userAgent: 'Test', guard });
    expect(await fetcher.fetch({ url: server.url('/local', 'localhost') }, textOf)).toBe('local');
  });

  it.each([
    ['http://missing.example.org/', 'unresolved'],
    ['ftp://example.org/', 'refused'],
    ['file:///etc/passwd', 'refused'],
    ['no URL', 'refused'],
    [`http://example.org/${'a'.repeat(4_096)}`, 'refused'],
    ['http://127.0.0.1:1/', 'refused'],
  ])('fails for %s: %s', async (url, fault) => {
    await expect(openFetcher().fetch({ url }, textOf)).rejects.toMatchObject({ fault });
  });

  it('accepts a host with an umlaut after any number of other fetches', async () => {
    const fetcher = openFetcher();
    const refusalOf = (url: string) =>
      fetcher.fetch({ url }, textOf).catch(({ message }: Error) => message);
    // V8 compiles the path after many calls, which changes the results of URL.canParse of Node 20.
    for (let n = 0; n < 20_000; n++) await refusalOf(`ftp://a.example/${n}`);
    expect(await refusalOf('ftp://ä.example/')).toContain('unsupported scheme');
  });

  it('reports a closed port without the URL', async () => {
    const guard = new AddressGuard(['127.0.0.1']);
    const fetched = new Fetcher({ userAgent: 'Test', guard }).fetch(
      { url: 'http://127.0.0.1:1/?token=secret' },
      textOf,
    );
    const error = await fetched.catch((cause: unknown) => cause);
    expect(error).toMatchObject({ fault: 'unreachable' });
    expect(String(error)).not.toContain('secret');
  });
});

describe('redirects', () => {
  beforeAll(() => {
    server.on('/end', (_, response) => response.end('end'));
    for (let hop = 1; hop <= 6; hop++) redirect(`/hop${hop}`, hop === 1 ? '/end' : `hop${hop - 1}`);
  });

  it('follows five and reports them', async () => {
    const { response, text } = await openFetcher().fetch(
      { url: server.url('/hop5') },
      async (fetched) => ({ response: fetched, text: await textOf(fetched) }),
    );
    expect(text).toBe('end');
    expect(response.url).toBe(server.url('/end'));
    const urls = ['/hop4', '/hop3', '/hop2', '/hop1', '/end'].map((path) => server.url(path));
    expect(response.redirects).toEqual(urls.map((url) => ({ status: 301, url })));
  });

  it.each([
    ['six', '/hop6', 'redirects'],
    ['to itself', '/self', 'redirects'],
    ['in a circle', '/one', 'redirects'],
    ['to the metadata address', '/metadata', 'refused'],
    ['to another scheme', '/scheme', 'refused'],
    ['to an unreadable URL', '/unreadable', 'refused'],
  ])('does not follow redirects: %s', async (_, path, fault) => {
    redirect('/self', '/self');
    redirect('/one', '/two');
    redirect('/two', '/one', 302);
    redirect('/metadata', 'http://169.254.169.254/latest/', 307);
    redirect('/scheme', 'gopher://127.0.0.1/');
    redirect('/unreadable', 'http://[');
    const fetched = openFetcher().fetch({ url: server.url(path) }, textOf);
    await expect(fetched).rejects.toMatchObject({ fault });
  });

  it('sends credentials to the first origin only', async () => {
    const other = await FeedServer.open();
    const to = other.on('/feed', (_, response) => response.end('feed'));
    const url = redirect('/away', '/still');
    redirect('/still', to.replace('//', '//name:password@'));
    const guard = new AddressGuard(['127.0.0.1']);
    const headers = { 'if-none-match': '"1"' };
    const request = { url, headers, authorization: 'Basic c2VjcmV0' };
    const fetcher = new Fetcher({ userAgent: 'Test', guard });
    expect(await fetcher.fetch(request, textOf)).toBe('feed');
    const received = server.requests.slice(-2).map((sent) => sent.headers.authorization);
    expect(received).toEqual(['Basic c2VjcmV0', 'Basic c2VjcmV0']);
    expect(other.requests[0]?.headers).toMatchObject({ 'if-none-match': '"1"' });
    expect(other.requests[0]?.headers).not.toHaveProperty('authorization');
    await other.close();
  });
});

describe('bodies', () => {
  const document = '<rss>é</rss>'.repeat(1_000);

  it.each<[string, Buffer]>([
    ['gzip', gzipSync(document)],
    ['x-gzip', gzipSync(document)],
    ['deflate', deflateSync(document)],
    ['br', brotliCompressSync(document)],
    ['identity', Buffer.from(document)],
  ])('decompresses %s', async (encoding, body) => {
    const url = server.on('/encoded', (_, response) => {
      response.setHeader('content-encoding', encoding);
      response.end(body);
    });
    expect(await openFetcher().fetch({ url }, textOf)).toBe(document);
  });

  it('returns status and headers of a 304', async () => {
    const url = server.on('/same', (request, response) => {
      response.setHeader('etag', '"1"');
      response.writeHead(request.headers['if-none-match'] === '"1"' ? 304 : 200).end();
    });
    const request = { url, headers: { 'if-none-match': '"1"' } };
    const read = async (response: FetchedResponse) => [response.status, response.header('etag')];
    expect(await openFetcher().fetch(request, read)).toEqual([304, '"1"']);
  });

  it.each<[string, string, Parameters<FeedServer['on']>[1]]>([
    ['larger than sent bytes allow', 'too_large', (_, out) => out.end(Buffer.alloc(200_000))],
    [
      'larger after decompression',
      'too_large',
      (_, out) => {
        out.setHeader('content-encoding', 'gzip');
        out.end(gzipSync(Buffer.alloc(2_000_000)));
      },
    ],
    [
      'larger after decompression (brotli)',
      'too_large',
      (_, out) => {
        out.setHeader('content-encoding', 'br');
        out.end(brotliCompressSync(Buffer.alloc(2_000_000)));
      },
    ],
    [
      'no gzip',
      'broken',
      (_, out) => {
        out.setHeader('content-encoding', 'gzip');
        out.end('<rss/>');
      },
    ],
    [
      'cut within gzip',
      'broken',
      (_, out) => {
        out.setHeader('content-encoding', 'gzip');
        out.end(gzipSync(document).subarray(0, 40));
      },
    ],
    [
      'in an unknown encoding',
      'broken',
      (_, out) => {
        out.setHeader('content-encoding', 'gzip, gzip');
        out.end(gzipSync(gzipSync(document)));
      },
    ],
    [
      'shorter than its length',
      'broken',
      (_, out) => {
        out.setHeader('content-length', 100);
        out.write('<rss>');
        out.socket?.end();
      },
    ],
    [
      'reset in the middle',
      'broken',
      (_, out) => {
        out.write('<rss>');
        setImmediate(() => out.socket?.resetAndDestroy());
      },
    ],
    [
      'under a head of 40 KB',
      'too_large',
      (_, out) => {
        out.setHeader('x-long', 'a'.repeat(40_000));
        out.end();
      },
    ],
  ])('fails for a body that is %s: %s', async (_, fault, handler) => {
    const url = server.on('/hostile', handler);
    const fetcher = openFetcher({ sentBytes: 100_000, decodedBytes: 1_000_000 });
    await expect(fetcher.fetch({ url }, textOf)).rejects.toMatchObject({ fault });
  });

  it('keeps memory small with an endless gzip stream', async () => {
    const url = server.on('/bomb', (_, response) => {
      response.setHeader('content-encoding', 'gzip');
      const gzip = createGzip();
      gzip.pipe(response);
      const zeros = Buffer.alloc(2 ** 20);
      const write = () => {
        while (!response.destroyed && gzip.write(zeros));
        if (!response.destroyed) gzip.once('drain', write);
      };
      write();
      response.on('close', () => gzip.destroy());
    });
    const before = process.memoryUsage.rss();
    const fetched = openFetcher({ decodedBytes: 256 * 2 ** 20 }).fetch({ url }, sizeOf);
    await expect(fetched).rejects.toMatchObject({ fault: 'too_large' });
    expect(process.memoryUsage.rss() - before).toBeLessThan(128 * 2 ** 20);
  });
});

describe('time', () => {
  const sendByteAtATime: Parameters<FeedServer['on']>[1] = async (_, out) => {
    while (!out.destroyed) {
      out.write(' ');
      await delay(20);
    }
  };

  it.each<[string, FetcherOptions['limits'], Parameters<FeedServer['on']>[1]]>([
    ['without a head', { headMs: 300 }, () => undefined],
    ['that stops within the body', { silenceMs: 300 }, (_, out) => void out.write('<rss>')],
    ['that sends a byte at a time', { totalMs: 300 }, sendByteAtATime],
  ])('ends a response %s', async (_, limits, handler) => {
    const url = server.on('/slow', handler);
    const fetched = openFetcher(limits).fetch({ url }, textOf);
    await expect(fetched).rejects.toMatchObject({ fault: 'timeout' });
  });

  it('ends a slow response after many fetches and a garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const { signal: stopped } = new AbortController();
    const fetcher = openFetcher({ totalMs: 500, silenceMs: 2_000 });
    const fast = server.on('/fast', (_, response) => response.end('fast'));
    // V8 compiles the path after many calls, and then keeps no unused variables.
    for (let batch = 0; batch < 50; batch++)
      await Promise.all(
        Array.from({ length: 20 }, () => fetcher.fetch({ url: fast }, textOf, stopped)),
      );
    expect(getEventListeners(stopped, 'abort')).toHaveLength(0);
    const slow = server.on('/slow', sendByteAtATime);
    const fetched = fetcher.fetch({ url: slow }, textOf, stopped).catch((error: unknown) => error);
    await delay(100);
    collectGarbage();
    const first = await Promise.race([fetched, delay(3_000)]);
    expect(first).toMatchObject({ fault: 'timeout' });
  });

  it('ends when the caller stops it, with its reason', async () => {
    const url = server.on('/slow', () => undefined);
    const stopped = new AbortController();
    const fetched = openFetcher().fetch({ url }, textOf, stopped.signal);
    stopped.abort(new Error('shutting down'));
    await expect(fetched).rejects.toThrow('shutting down');
  });

  it('returns no part of a body after the caller has stopped it', async () => {
    const url = server.on('/half', (_, response) => void response.write('<rss>'));
    const stopped = new AbortController();
    const readStart = async ({ body }: FetchedResponse) => {
      try {
        for await (const _ of body) stopped.abort(new Error('shutting down'));
      } catch {
        return 'start';
      }
      return 'whole';
    };
    const fetched = openFetcher().fetch({ url }, readStart, stopped.signal);
    await expect(fetched).rejects.toThrow('shutting down');
  });

  it('leaves no connection open after a body that was not read', async () => {
    const url = server.on('/unread', (_, response) => void response.write('<rss>'));
    const status = await openFetcher().fetch({ url }, async (response) => response.status);
    expect(status).toBe(200);
    await expect.poll(() => server.open).toBe(0);
  });

  it('passes errors of the reader through', async () => {
    const url = server.on('/fine', (_, response) => response.end('fine'));
    const fetched = openFetcher().fetch({ url }, () => Promise.reject(new TypeError('mine')));
    await expect(fetched).rejects.toThrow(TypeError);
  });
});
