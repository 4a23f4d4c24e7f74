// A separate process: a server of feeds on all addresses of loopback, so that each feed can have a
// host of its own. A message sets what it answers: 'changed', 'unchanged' or 'large'.
import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { feedOf } from './documents.mjs';

const gzip = { 'content-encoding': 'gzip' };
let version = 0;
let answer = changed();

/** A new document of 250 kB. */
function changed() {
  version += 1;
  const body = feedOf({ episodes: 40, repeats: 28, version });
  return (_request, response) => response.writeHead(200, { etag: `"${version}"` }).end(body);
}

/** A document of 20 MB, compressed, as feeds of this size are. */
function large() {
  const body = gzipSync(feedOf({ episodes: 3_000, repeats: 31 }));
  return (_request, response) => response.writeHead(200, gzip).end(body);
}

const unchanged = () => (_request, response) => response.writeHead(304).end();
const answers = { changed, unchanged, large };

const server = createServer((request, response) => answer(request, response));
server.listen(0, '0.0.0.0', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit(0));
process.on('message', (name) => {
  answer = answers[name]();
  process.send({});
});
