import type { HttpOptions } from '#http';
import type { Log } from '#runtime';
import type { GpodderConfig } from '../gpodder.config.js';
import type { Admission } from './admission.js';
import { refuse } from './errors.js';

/** No scripts, no frames, and no caching: some clients have an HTTP cache. */
const headers = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};

/** What a web page may read, as on gpodder.net: by a header of its own, never with what a browser remembers. */
const cors = { origin: '*', methods: ['GET', 'HEAD'], allowedHeaders: ['Authorization'], maxAge: 600 };

/** What stands before the paths of Nextcloud where an app asks below a folder. */
const folder = /^\/[^?]*?(?=\/index\.php\/(?:apps\/gpoddersync|login\/v2)|\/ocs\/v2\.php\/core\/)/;

/** The app's HTTP server: before Nest's router {@link Admission}, then the body. */
export function serverOptions(config: GpodderConfig, admission: Admission, log: Log): HttpOptions {
  return {
    config,
    log,
    admit: (request, reply) => admission.admit(request, reply),
    refuse: (request, reply) => admission.refuse(request, reply),
    headers: () => headers,
    answer: refuse,
    bodies: ['bytes'],
    cors,
    rewrite: (url) => url.replace(folder, ''),
  };
}
