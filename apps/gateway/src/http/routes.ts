/** Paths that are served without a credential, read-only. */
const open = /^\/($|openapi\.json$|docs(\/.*)?$|\.well-known\/(jwks\.json|oauth-protected-resource)$)/;

/** Whether a request needs no credential. */
export function isOpen(method: string, path: string): boolean {
  return (method === 'GET' || method === 'HEAD') && open.test(path);
}
