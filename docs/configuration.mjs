// Generates docs/reference/configuration.md from the configuration schemas of the apps. With
// --check it fails if the page is stale. Needs a build.
import { readFileSync, writeFileSync } from 'node:fs';

const apps = {
  standalone: (await import('../dist/apps/standalone/src/standalone.options.js')).standaloneConfig,
  gateway: (await import('../dist/apps/gateway/src/gateway.config.js')).gatewayConfig,
  gpodder: (await import('../dist/apps/gpodder/src/gpodder.config.js')).gpodderConfig,
  subscription: (await import('../dist/apps/subscription/src/subscription.config.js'))
    .subscriptionConfig,
  episode: (await import('../dist/apps/episode/src/episode.config.js')).episodeConfig,
  'deletion-worker': (await import('../dist/apps/deletion-worker/src/deletion-worker.config.js'))
    .deletionWorkerConfig,
  feed: (await import('../dist/apps/feed/src/feed.config.js')).feedConfig,
  account: (await import('../dist/apps/account/src/account.config.js')).accountConfig,
  edge: (await import('../dist/apps/edge/src/edge.config.js')).edgeConfig,
  load: (await import('../dist/apps/load/src/load.config.js')).loadProgramConfig,
  migrate: (await import('../dist/apps/migrate/src/migrate.config.js')).migrateConfig,
  dump: (await import('../dist/apps/dump/src/dump.config.js')).dumpConfig,
  'copy-users': (await import('../dist/apps/dump/src/dump.config.js')).copyConfig,
  import: (await import('../dist/apps/gpodder/src/import/import.config.js')).importConfig,
};
const page = new URL('reference/configuration.md', import.meta.url);

/** Returns the default of a variable: the schema's result without a value. */
function fallback(schema) {
  const { success, data } = schema.safeParse(undefined);
  if (!success) return '**required**';
  return data === undefined ? '' : `\`${data}\``;
}

/** Returns true for a prefixed form of another variable, which the app's description covers. */
function isPrefixed(name, { shape }) {
  return ['QUEUE_', 'EVENTS_'].some(
    (prefix) => name.startsWith(prefix) && name.slice(prefix.length) in shape,
  );
}

const sections = Object.entries(apps).map(([app, schema]) => {
  const rows = Object.entries(schema.shape)
    .filter(([name]) => !isPrefixed(name, schema))
    .map(
      ([name, variable]) =>
        `| \`${name}\` | ${fallback(variable)} | ${(variable.description ?? '').replaceAll('|', '\\|')} |`,
    );
  const about = schema.description ? `${schema.description}\n\n` : '';
  return `## ${app}\n\n${about}| variable | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
});
const text = `# Configuration

Environment variables, read once at the start. \`NAME_FILE\` names a file that holds the value of \`NAME\`, for secrets. A
start with unusable variables stops with exit code 78 and names all of them.

<!-- Made by docs/configuration.mjs from the schemas of the apps; \`npm run docs\` makes it anew. -->

${sections.join('\n')}`;

if (process.argv.includes('--check')) {
  if (readFileSync(page, 'utf8') !== text) {
    process.stderr.write(
      'docs/reference/configuration.md is not what the schemas say: run npm run docs\n',
    );
    process.exit(1);
  }
} else {
  writeFileSync(page, text);
}
