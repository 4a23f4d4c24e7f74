// Writes docs/reference/rules.md: each rule of the interface with its source, and the test vectors
// of the conformance suite that cover it, or another test that does.
//   node docs/rules.mjs          writes the page
//   node docs/rules.mjs --check  fails if the page is outdated, or a rule has neither
// A rule is a paragraph that begins with bold words, or the text below a heading. Its source
// follows these words: <sub>draft</sub>, <sub>decided</sub> or <sub>added</sub>.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const page = 'docs/reference/rules.md';
const pages = [
  'interface',
  'subscriptions',
  'episodes',
  'interface-opml-changes',
  'interface-feeds',
  'interface-import',
];
const profiles = ['subscriptions', 'deletions', 'episodes', 'sync-guarantees', 'additions'];
const sources = { draft: 'draft', decided: 'decided here', added: 'added' };

/** Documents of the draft, by the rule that repeats them. */
const ofDraft = {
  Errors: ['schema.yml'],
  Lists: ['specs/subscriptions/get-all', 'specs/episodes/get-all'],
  Subscriptions: ['specs/subscriptions/index', 'specs/subscriptions/add-new'],
  PATCH: ['specs/subscriptions/update', 'specs/subscriptions/get-single'],
  Deletion: ['specs/subscriptions/delete', 'specs/subscriptions/status'],
  Uploads: ['specs/episodes/add-update'],
  States: ['specs/episodes/index', 'specs/conventions/'],
};

/** Tests of rules that a client cannot see, or that need settings of the server. */
const tests = {
  'Titles of episodes': 'tests/system/feed-kills.int-spec.ts',
  'Moves and guids': 'tests/system/feed-kills.int-spec.ts',
  Pictures: 'apps/gateway/src/feed/feeds.int-spec.ts',
  Previews: 'apps/gateway/src/feed/feeds.int-spec.ts',
  Import: 'tests/system/feed-imports.int-spec.ts',
  Refreshing: 'apps/gateway/src/feed/feeds.int-spec.ts',
  Credential: 'e2e/authentication.e2e-spec.ts',
  OPML: 'e2e/opml.e2e-spec.ts',
  'Web pages': 'e2e/cors.e2e-spec.ts',
  Rates: 'apps/gateway/src/http/limits.int-spec.ts',
  Compression: 'e2e/http-surface.e2e-spec.ts',
  Quotas: 'tests/system/quotas.int-spec.ts',
  Size: 'apps/episode/src/episode.service.int-spec.ts',
  'One podcast': 'apps/episode/src/episode.service.int-spec.ts',
  Changes: 'e2e/changes.e2e-spec.ts',
  Events: 'e2e/changes.e2e-spec.ts',
  'Missing events': 'apps/gateway/src/changes/changes.int-spec.ts',
  Heartbeat: 'apps/gateway/src/changes/changes.int-spec.ts',
  End: 'apps/gateway/src/changes/changes.int-spec.ts',
  Limits: 'apps/gateway/src/changes/changes.int-spec.ts',
  Encoding: 'libs/opml/src/opml-reader.spec.ts',
  Parts: 'apps/gateway/src/opml/opml.int-spec.ts',
};

/** Letters and digits alone: vectors cite without line breaks, table borders and marks. */
const plain = (text) => text.replaceAll(/<sub>\w+<\/sub>/g, '').replaceAll(/[^\p{L}\p{N}]+/gu, ' ');
const vectors = profiles.flatMap(
  (profile) => JSON.parse(readFileSync(`conformance/vectors/${profile}.json`, 'utf8')).vectors,
);

/** Returns the rules of a page, in its order. */
function rulesOf(name) {
  const lines = readFileSync(`docs/reference/${name}.md`, 'utf8').split('\n');
  const rules = [];
  for (const line of lines) {
    const title = /^(?:#+ (.+)|\*\*([^*]+?)\.?\*\*)/.exec(line);
    if (title) rules.push({ name, title: title[1] ?? title[2], text: '' });
    const rule = rules.at(-1);
    if (rule) rule.text += `${line}\n`;
  }
  return rules.map((rule) => ({ ...rule, source: /<sub>(\w+)<\/sub>/.exec(rule.text)?.[1] }));
}

/** Returns the ids of the vectors of a rule. */
function vectorsOf({ name, title, text, source }) {
  const own = `Podcast Sync: docs/reference/${name}.md`;
  const isDraft = source === 'draft';
  const drafts = isDraft ? (ofDraft[title] ?? []).map((path) => `Open Podcast API: ${path}`) : [];
  return vectors
    .filter(({ cites: { document, sentence } }) =>
      document === own
        ? plain(text).includes(plain(sentence).trim())
        : drafts.some((draft) => document.startsWith(draft)),
    )
    .map(({ id }) => id);
}

const problems = [];
const rows = pages.flatMap((name) =>
  rulesOf(name)
    .filter(({ source }) => source !== undefined)
    .map((rule) => {
      const ids = vectorsOf(rule);
      const test = tests[rule.title];
      if (!(rule.source in sources)) problems.push(`${rule.title}: no such source`);
      if (ids.length === 0 && !existsSync(test ?? ''))
        problems.push(`${rule.name}.md, "${rule.title}": no vector cites a sentence of it`);
      const cover = ids.length > 0 ? ids.map((id) => `\`${id}\``).join(', ') : `test: \`${test}\``;
      return `| [${rule.title}](${name}.md) | ${sources[rule.source]} | ${cover} |`;
    }),
);
const used = new Set(rows.join('\n').match(/`[\w.-]+`/g));
for (const { id, cites } of vectors)
  if (!used.has(`\`${id}\``)) problems.push(`vector ${id}: no rule has "${cites.sentence}"`);

const text = `# Rules of the interface

Each rule of [the interface](interface.md) with its source and the test
[vectors](../../conformance/README.md) that cover it. A rule that a client cannot see, or that needs
settings of the server, has another test instead.

<!-- Generated by docs/rules.mjs from the interface and the vectors: \`npm run docs\`. -->

| rule | source | covered by |
|---|---|---|
${rows.join('\n')}
`;
if (!process.argv.includes('--check')) writeFileSync(page, text);
else if (readFileSync(page, 'utf8') !== text)
  problems.push(`${page} is outdated: run npm run docs`);
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;
