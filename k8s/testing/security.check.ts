import type { V1Container, V1Ingress, V1PodSpec, V1Service, V1ServiceAccount } from '@kubernetes/client-node';
import { type Manifest, ofKind, title, workloads } from './overlay.js';

/** The restricted level of the pod security standards and more; only the edges can be reached. */
export function securityProblems(manifests: readonly Manifest[]): string[] {
  return [
    ...workloads(manifests).flatMap((workload) => {
      const pod = workload.spec.template.spec;
      const problems = pod ? [...podProblems(pod), ...pod.containers.flatMap(containerProblems)] : ['has no pods'];
      return problems.map((problem) => `${title(workload)}: ${problem}`);
    }),
    ...ofKind<V1ServiceAccount>(manifests, 'ServiceAccount')
      .filter(({ automountServiceAccountToken }) => automountServiceAccountToken !== false)
      .map((account) => `${title(account)}: gives its pods a token`),
    ...ofKind<V1Service>(manifests, 'Service')
      .filter(({ spec }) => (spec?.type ?? 'ClusterIP') !== 'ClusterIP')
      .map((service) => `${title(service)}: can be reached from outside the cluster`),
    ...ofKind<V1Ingress>(manifests, 'Ingress').flatMap(ingressProblems),
    ...ofKind(manifests, 'Secret').map((secret) => `${title(secret)}: a secret is written down`),
  ];
}

function podProblems(pod: V1PodSpec): string[] {
  const context = pod.securityContext;
  const rules: Record<string, boolean> = {
    'runs as root': !context?.runAsNonRoot || !context.runAsUser,
    'has no seccomp profile': context?.seccompProfile?.type !== 'RuntimeDefault',
    'mounts a token of its service account': pod.automountServiceAccountToken !== false,
    'shares the network, the processes or the memory of its node': Boolean(
      pod.hostNetwork || pod.hostPID || pod.hostIPC,
    ),
    'mounts a folder of its node': (pod.volumes ?? []).some(({ hostPath }) => hostPath),
  };
  return broken(rules);
}

function containerProblems({ securityContext: context, env, image, resources }: V1Container): string[] {
  return broken({
    'may gain privileges': context?.allowPrivilegeEscalation !== false || Boolean(context.privileged),
    'can write to its root file system': !context?.readOnlyRootFilesystem,
    'keeps capabilities': !context?.capabilities?.drop?.includes('ALL') || Boolean(context.capabilities.add?.length),
    'has an image without a tag of its own': !/:(?!latest$)[\w.-]+$/.test(image ?? ''),
    'asks for no CPU or memory': !resources?.requests?.cpu || !resources.requests.memory,
    'has no limit of memory': !resources?.limits?.memory,
    'has a secret in its environment': (env ?? []).some(({ name }) =>
      /(DATABASE_URL|SMTP_URL|PASSWORD|SECRET|SECRETS_KEY|SESSION_KEY|TOKEN)$/.test(name),
    ),
  });
}

const edges = ['gateway', 'gpodder', 'account'];

function ingressProblems(ingress: V1Ingress & Manifest): string[] {
  const paths = (ingress.spec?.rules ?? []).flatMap(({ http }) => http?.paths ?? []);
  return paths
    .filter(({ backend }) => !edges.includes(backend.service?.name ?? ''))
    .map(({ backend }) => `${title(ingress)}: lets ${backend.service?.name} be reached from outside`);
}

function broken(rules: Record<string, boolean>): string[] {
  return Object.entries(rules).flatMap(([problem, holds]) => (holds ? [problem] : []));
}
