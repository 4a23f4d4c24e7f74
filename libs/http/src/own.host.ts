import ipaddr from 'ipaddr.js';

/** Networks of which a stranger's page on the web owns no address. */
const privateRanges: readonly string[] = ['loopback', 'private', 'linkLocal', 'uniqueLocal', 'carrierGradeNat'];

/** Names that nobody can register: those of a local network, and those without a dot. */
const localName = /^[^.]+$|\.(?:local|localhost|lan|internal|home\.arpa)$/;

/**
 * Tells whether a server is meant by a host name: by that of its public URL, by a name of a local network, or by an
 * address of one. Any other name was pointed at this server by somebody else, so that their page may read what browsers
 * then take for their own site (DNS rebinding).
 *
 * @param publicUrl where there is none, every name is the server's.
 */
export function ownHost(publicUrl: string | undefined): (hostname: string) => boolean {
  if (publicUrl === undefined) return () => true;
  const own = new URL(publicUrl).hostname.toLowerCase();
  return (hostname) => {
    const name = hostname.toLowerCase();
    const address = name.replace(/^\[|\]$/g, '');
    if (name === own) return true;
    if (ipaddr.isValid(address)) return privateRanges.includes(ipaddr.process(address).range());
    return localName.test(name);
  };
}
