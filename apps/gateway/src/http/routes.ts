/** The methods of each path of the interface, below `/` and `/v1/`. A segment that starts with a colon takes any value. */
const routes: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['subscriptions', ['GET', 'HEAD', 'POST']],
  ['subscriptions/:guid', ['GET', 'HEAD', 'PATCH', 'DELETE']],
  ['deletions/:id', ['GET', 'HEAD']],
  ['episodes', ['GET', 'HEAD', 'POST']],
];

/** Paths that are served without a credential. */
const open = /^\/(openapi\.json|docs(\/.*)?|\.well-known\/jwks\.json)$/;

/** The prefixes under which the interface is served. */
export const prefixes = ['', 'v1'] as const;

export function isOpen(path: string): boolean {
  return open.test(path);
}

/** The methods that a path of the interface takes, none for a path that it does not have. */
export function methodsOf(path: string): readonly string[] | undefined {
  const segments = path.replace(/^\/(v1\/)?/, '').split('/');
  return routes.find(([route]) => {
    const pattern = route.split('/');
    return (
      pattern.length === segments.length &&
      pattern.every((part, index) => (part.startsWith(':') ? segments[index] !== '' : part === segments[index]))
    );
  })?.[1];
}
