/** The methods of each path of the interface, below `/` and `/v1/`. A segment with a colon takes any value. */
const routes: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['subscriptions', ['GET', 'HEAD', 'POST']],
  ['subscriptions.opml', ['GET', 'HEAD']],
  ['subscriptions/opml', ['POST']],
  ['subscriptions/:guid', ['GET', 'HEAD', 'PATCH', 'DELETE']],
  ['deletions/:id', ['GET', 'HEAD']],
  ['episodes', ['GET', 'HEAD', 'POST']],
  ['changes', ['GET', 'HEAD']],
];

/** Paths that are served without a credential, read-only. */
const open = /^\/($|openapi\.json|docs(\/.*)?|\.well-known\/(jwks\.json|oauth-protected-resource))$/;

const readOnly = ['GET', 'HEAD'];

/** Whether a request needs no credential. */
export function isOpen(method: string, path: string): boolean {
  return readOnly.includes(method) && open.test(path);
}

/** A path as the router decodes it; one that can't be decoded stays as it is, and matches no route. */
function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** The methods of a path; `undefined` where there is no such path. */
export function methodsOf(path: string): readonly string[] | undefined {
  if (open.test(path)) return readOnly;
  const segments = decoded(path)
    .replace(/^\/(v1\/)?/, '')
    .split('/');
  return routes.find(([route]) => {
    const pattern = route.split('/');
    return (
      pattern.length === segments.length &&
      pattern.every((part, index) => (part.startsWith(':') ? segments[index] !== '' : part === segments[index]))
    );
  })?.[1];
}
