import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A web server on which each path is a feed of three episodes without files. */
export class FeedServer {
  private readonly server: Server = createServer((request, response) => {
    const origin = `http://${request.headers.host}`;
    response
      .writeHead(200, { 'content-type': 'application/rss+xml' })
      .end(rss(origin, request.url ?? '/'));
  });
  private origin = '';

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.origin = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Returns the URL of a feed. */
  feed(name: string): string {
    return `${this.origin}/${name}`;
  }

  /** Returns the URL of a feed's episode, 1 to 3. */
  episode(name: string, number: number): string {
    return `${this.origin}/${name}/${number}.mp3`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

function rss(origin: string, path: string): string {
  const items = [1, 2, 3].map(
    (
      number,
    ) => `<item><title>Episode ${number}</title><guid isPermaLink="false">${path}-${number}</guid>
      <pubDate>0${number} Jan 2024 10:00:00 +0000</pubDate>
      <enclosure url="${origin}${path}/${number}.mp3" length="1000" type="audio/mpeg"/></item>`,
  );
  return `<?xml version="1.0"?>
<rss version="2.0"><channel><title>Podcast at ${path}</title><link>${origin}</link>
    <description>A test</description>${items.join('')}</channel></rss>`;
}
