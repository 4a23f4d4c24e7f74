import pg from 'pg';

/**
 * Creates a client with TimeZone UTC. Its statements have no timeout, because reading all rows can
 * take hours.
 */
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
  // Ignores the error event, because the running statement fails with the same error.
  client.on('error', () => undefined);
  return client;
}
