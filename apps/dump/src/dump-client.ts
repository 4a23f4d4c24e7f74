import pg from 'pg';

/** Creates a client with TimeZone UTC, and without a timeout: reading all rows can take hours. */
export function dumpClient(
  connectionString: string,
  applicationName: string,
  options: pg.ClientConfig = {},
): pg.Client {
  const client = new pg.Client({
    connectionString,
    application_name: applicationName,
    options: '-c TimeZone=UTC -c DateStyle=ISO -c statement_timeout=0',
    keepAlive: true,
    ...options,
  });
  // The running statement fails with the same error.
  client.on('error', () => undefined);
  return client;
}
