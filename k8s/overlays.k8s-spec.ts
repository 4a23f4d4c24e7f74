import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gatewayConfig } from '../apps/gateway/src/gateway.config.js';
import { containerEnvironment } from './testing/environment.check.js';
import { type Manifest, overlays, render, title, workloads } from './testing/overlay.js';
import { makeSecrets, problems, type Secrets } from './testing/problems.js';

let secrets: Secrets;
beforeAll(async () => void (secrets = await makeSecrets()));
afterAll(() => secrets.remove());

describe('the overlays', () => {
  it.each(overlays)('%s renders, and nothing is wrong with it', (overlay) => {
    expect(problems(render(overlay), secrets)).toEqual([]);
  });

  it('production scales the deletion worker by its queue alone, and the others by their load', () => {
    const scalers = render('production').filter(({ kind }) => /Autoscaler|ScaledObject/.test(kind));
    expect(scalers.map(title).sort()).toEqual([
      'HorizontalPodAutoscaler/account',
      'HorizontalPodAutoscaler/episode',
      'HorizontalPodAutoscaler/gateway',
      'HorizontalPodAutoscaler/gpodder',
      'HorizontalPodAutoscaler/subscription',
      'ScaledObject/deletion-worker',
    ]);
  });

  it('production limits what comes from one address before a credential is looked at, and what one user sends', () => {
    const given = gatewayEnvironment(render('production'));
    const { RATE_LIMIT_PER_ADDRESS: address, RATE_LIMIT_PER_USER: user, TRUSTED_PROXIES } = gatewayConfig.parse(given);
    expect([address?.quota, user?.quota, TRUSTED_PROXIES?.length]).toEqual([6_000, 1_200, 1]);
  });
});

/** What the gateway of an overlay is given. */
function gatewayEnvironment(manifests: Manifest[]): Record<string, string> {
  const [container] = workloads(manifests)
    .filter((workload) => title(workload) === 'Deployment/gateway')
    .flatMap((workload) => workload.spec.template.spec?.containers ?? []);
  return container ? containerEnvironment(container, manifests) : {};
}
