import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Rule {
  alert: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}
interface Service {
  entrypoint?: string[];
  volumes: string[];
}

const folder = 'k8s/components/monitoring';
const rulesFile = `${folder}/rules.yaml`;
const read = (file: string) => readFileSync(file, 'utf8');
const { spec } = parse(read(rulesFile)) as { spec: { groups: { rules: Rule[] }[] } };
const rules = spec.groups.flatMap((group) => group.rules);
const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
  services: { prometheus: Service; grafana: Service };
};

describe('the runbook', () => {
  const sections = read('docs/operations.md')
    .split(/^### (?=PodcastSync)/m)
    .slice(1);
  const anchors = sections.map((section) => section.slice(0, section.indexOf('\n')));

  it.each(rules)('$alert leads to its section, which says what it means and what to do', ({ alert, annotations }) => {
    expect(annotations.runbook_url).toBe(`docs/operations.md#${alert.toLowerCase()}`);
    expect(anchors).toContain(alert);
    expect(sections[anchors.indexOf(alert)]).toMatch(/\n1\. /);
  });

  it('has no section for an alert that is not there', () => {
    expect(anchors.filter((anchor) => !rules.some(({ alert }) => alert === anchor))).toEqual([]);
  });

  it('is reached by alerts that call somebody or wait for the morning, and by no others', () => {
    expect(new Set(rules.map(({ labels }) => labels.severity))).toEqual(new Set(['critical', 'warning']));
  });
});

/** Where a volume of a service comes from that it sees under a path. */
function sourceOf({ volumes }: Service, path: string): string {
  const mount = volumes.map((volume) => volume.split(':')).find(([, target]) => target && path.startsWith(target));
  return mount ? path.replace(mount[1]!, mount[0]!) : '';
}

describe('docker-compose', () => {
  it("gives the same rules to its Prometheus, in Prometheus' own form", () => {
    const place = mkdtempSync(join(tmpdir(), 'compose-rules-'));
    const script = services.prometheus
      .entrypoint![2]!.replaceAll('$$', '$')
      .replaceAll('/etc/prometheus/rules.yaml', rulesFile)
      .replaceAll('/tmp/', `${place}/`)
      .replace('exec prometheus', 'echo');
    try {
      expect(sourceOf(services.prometheus, '/etc/prometheus/rules.yaml')).toBe(`./${rulesFile}`);
      expect(execFileSync('sh', ['-c', script, 'prometheus', '--flag'], { encoding: 'utf8' })).toBe('--flag\n');
      expect(parse(read(join(place, 'rules.yml')))).toEqual(spec);
      const { rule_files: files } = parse(read(`${folder}/compose/prometheus.yml`)) as { rule_files: string[] };
      expect(files).toEqual(['/tmp/rules.yml']);
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  it('gives the dashboard of Kubernetes to its Grafana, from the same file', () => {
    const provisioning = sourceOf(services.grafana, '/etc/grafana/provisioning/dashboards/podcast-sync.yml');
    const { providers } = parse(read(provisioning)) as { providers: { options: { path: string } }[] };
    const { configMapGenerator } = parse(read(`${folder}/kustomization.yaml`)) as {
      configMapGenerator: { files: string[] }[];
    };
    const dashboards = configMapGenerator.flatMap(({ files }) => files);
    expect(dashboards).toEqual(['dashboards/podcast-sync.json']);
    for (const dashboard of dashboards) {
      const source = sourceOf(services.grafana, `${providers[0]!.options.path}/${dashboard.split('/').at(-1)}`);
      expect(source).toBe(`./${folder}/${dashboard}`);
      expect(existsSync(source)).toBe(true);
    }
  });
});
