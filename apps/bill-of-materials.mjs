import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the package in a folder, such as `node_modules/fastify`, as name@version. */
export function packageIn(root) {
  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return `${name}@${version}`;
}

/**
 * Returns npm's bill of materials as CycloneDX, reduced to the given packages. It lacks the
 * optional time and random serial number of npm, so that two builds of a commit have equal bills.
 *
 * @param name The artifact that contains the packages, such as `podcast-sync/gateway`.
 * @param refs The set of packages to keep, such as `fastify@5.12.8`.
 */
export function billOfMaterials(name, refs) {
  // Without `--omit dev`, which also drops peers of development packages, such as jose.
  const sbom = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
  const all = JSON.parse(execFileSync('npm', sbom, { encoding: 'utf8', maxBuffer: 2 ** 26 }));
  delete all.serialNumber;
  delete all.metadata.timestamp;
  const components = all.components.filter((component) => refs.has(component['bom-ref']));
  const found = new Set(components.map((component) => component['bom-ref']));
  const unknown = [...refs].filter((ref) => !found.has(ref));
  if (unknown.length > 0)
    throw new Error(`package-lock.json lacks ${unknown.join(', ')} (npm sbom)`);
  const artifact = { ...all.metadata.component, type: 'application', name };
  const dependencies = all.dependencies
    .filter(({ ref }) => refs.has(ref) || ref === artifact['bom-ref'])
    .map(({ ref, dependsOn = [] }) => ({
      ref,
      dependsOn: dependsOn.filter((other) => refs.has(other)),
    }));
  return { ...all, metadata: { ...all.metadata, component: artifact }, components, dependencies };
}
