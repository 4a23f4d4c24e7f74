import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Rule {
  alert: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

const read = (file: string) => readFileSync(file, 'utf8');
const { groups } = parse(read('k8s/chart/files/rules.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

describe('the runbook', () => {
  const sections = read('docs/guide/alerts.md')
    .split(/^### (?=PodcastSync)/m)
    .slice(1);
  const anchors = sections.map((section) => section.slice(0, section.indexOf('\n')));

  it.each(rules)(
    'has a section for $alert with its meaning and actions',
    ({ alert, annotations }) => {
      expect(annotations.runbook_url).toBe(`docs/guide/alerts.md#${alert.toLowerCase()}`);
      expect(anchors).toContain(alert);
      expect(sections[anchors.indexOf(alert)]).toMatch(/\n1\. /);
    },
  );

  it('has no other sections', () => {
    expect(anchors.filter((anchor) => !rules.some(({ alert }) => alert === anchor))).toEqual([]);
  });

  it('is linked by alerts of the severities critical and warning only', () => {
    expect(new Set(rules.map(({ labels }) => labels.severity))).toEqual(
      new Set(['critical', 'warning']),
    );
  });
});

describe('docker-compose', () => {
  const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, { volumes: string[]; restart?: string; build?: unknown }>;
  };
  /** Returns the mount paths in a container, by path in the repository. */
  const mounts = (service: string) =>
    Object.fromEntries(
      services[service]!.volumes.map((volume) => volume.split(':') as [string, string]),
    );

  it('mounts the rules of the chart into Prometheus', () => {
    const mounted = mounts('prometheus');
    const config = parse(read('k8s/compose/prometheus.yml')) as { rule_files: string[] };
    expect(mounted['./k8s/compose/prometheus.yml']).toBe('/etc/prometheus/prometheus.yml');
    expect(config.rule_files).toEqual([mounted['./k8s/chart/files/rules.yaml']]);
  });

  it('scrapes every server', () => {
    const { scrape_configs: jobs } = parse(read('k8s/compose/prometheus.yml')) as {
      scrape_configs: { dns_sd_configs: { names: string[] }[] }[];
    };
    const scraped = jobs.flatMap((job) => job.dns_sd_configs.flatMap(({ names }) => names));
    const servers = Object.entries(services).filter(([, { build, restart }]) => build && restart);
    expect(scraped).toEqual(servers.map(([name]) => name));
  });

  it('mounts the dashboard of the chart into Grafana', () => {
    const mounted = mounts('grafana');
    expect(mounted['./k8s/compose/grafana']).toBe('/etc/grafana/provisioning');
    const { providers } = parse(read('k8s/compose/grafana/dashboards/podcast-sync.yml')) as {
      providers: { options: { path: string } }[];
    };
    expect(dirname(mounted['./k8s/chart/files/dashboard.json']!)).toBe(providers[0]!.options.path);
  });

  it.each(['prometheus', 'grafana', 'otel-collector'])(
    'mounts existing files for %s',
    (service) => {
      const missing = Object.keys(mounts(service)).filter(
        (path) => path.startsWith('./') && !existsSync(path),
      );
      expect(missing).toEqual([]);
    },
  );
});
