import ipaddr from 'ipaddr.js';

/** A network or a host name that is allowed although it is not public. */
type GuardException = { readonly port: number | undefined } & (
  { readonly network: [ipaddr.IPv4 | ipaddr.IPv6, number] } | { readonly name: string }
);

/** The only IPv6 range with global addresses (IANA, IPv6 address space). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/** The IPv6 range that contains the IPv4 addresses behind NAT64 (RFC 6052, 2.1). */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * Matches names that no public host has: names of local networks (RFC 6762, 6761), of Kubernetes
 * and of the DNS itself, and names without a dot. Other local names, such as `nas.lan`, resolve to
 * private addresses, which the guard rejects.
 */
const nonPublicName = /^[^.]+$|\.(?:local|localhost|internal|svc|arpa)$/;

/** Matches a host with an optional port. Brackets around the host allow colons in it. */
const exceptionPattern = /^(\[[^\]]{1,60}\]|[^:[\]]{1,253})(?::(\d{1,5}))?$/;
const hostNamePattern = /^[a-z\d](?:[a-z\d_.-]{0,251}[a-z\d])?$/;

/**
 * Decides which hosts, addresses and ports outgoing requests reach: public addresses on public
 * ports, and configured exceptions (`FEEDS_ALLOW`). It protects the server's network from URLs that
 * users and publishers of feeds choose (SSRF). A host with one address that is not allowed is
 * refused (`HostResolver`). `fetcher.int-spec.ts` tests a list of refused addresses.
 */
export class AddressGuard {
  private readonly exceptions: readonly GuardException[];

  /**
   * @param exceptions networks, addresses or names, each optionally with a port, as in
   *   `192.168.1.0/24`, `127.0.0.1:8080`, `[fd00::/8]:8080`, `rss-bridge`. Default port: any.
   * @param ports allowed ports of public hosts.
   * @throws Error for an entry of another form. The message contains the entry.
   */
  constructor(
    exceptions: readonly string[] = [],
    private readonly ports: readonly number[] = [80, 443],
  ) {
    this.exceptions = exceptions.map(parseException);
  }

  /** Returns true if a connection to the address is allowed. @param address IPv4 or IPv6. */
  allowsAddress(address: string, port: number): boolean {
    return (
      (this.ports.includes(port) && isPublic(ipaddr.parse(address))) ||
      this.isException(address, port)
    );
  }

  /**
   * Returns true if a configured exception names the host, or contains the address, and covers the
   * port.
   *
   * @param host a name or an IP address.
   */
  isException(host: string, port: number): boolean {
    const address = ipaddr.isValid(host) ? ipaddr.parse(host) : undefined;
    return this.exceptions.some(
      (exception) =>
        coversPort(exception, port) &&
        ('name' in exception
          ? exception.name === host
          : address?.kind() === exception.network[0].kind() && address.match(exception.network)),
    );
  }

  /** Returns true if a name is allowed to be resolved. Its addresses are checked later. */
  allowsName(name: string, port: number): boolean {
    // A trailing dot makes a name absolute and changes nothing else.
    return !nonPublicName.test(name.replace(/\.$/, '')) || this.isException(name, port);
  }
}

/**
 * Returns true if an address is public. ipaddr.js alone is not enough, because it classifies
 * `::7f00:1` as unicast. Some systems connect to the embedded address 127.0.0.1 instead.
 */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (!(address instanceof ipaddr.IPv6)) return address.range() === 'unicast';
  if (address.match(nat64)) return isPublic(new ipaddr.IPv4(address.toByteArray().slice(12)));
  return address.match(globalUnicast) && address.range() === 'unicast';
}

function coversPort(exception: GuardException, port: number): boolean {
  return exception.port === undefined || exception.port === port;
}

function parseException(entry: string): GuardException {
  // An IPv6 network without brackets has colons, but no port.
  const networkWithoutPort = parseNetwork(entry);
  if (networkWithoutPort) return { port: undefined, network: networkWithoutPort };
  const [, host = '', portDigits] = exceptionPattern.exec(entry) ?? [];
  const bareHost = host.replace(/^\[|\]$/g, '').toLowerCase();
  const port = portDigits === undefined ? undefined : Number(portDigits);
  const network = parseNetwork(bareHost);
  if (network) return { port, network };
  if (hostNamePattern.test(bareHost)) return { port, name: bareHost };
  throw new Error(
    `"${entry}" is not a network, address or host name: use a form such as 192.168.1.0/24`,
  );
}

/** Parses a network, or a single address as a network; undefined for another text. */
function parseNetwork(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] | undefined {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return [ipaddr.IPv4.parse(text), 32];
  return ipaddr.IPv6.isValid(text) ? [ipaddr.IPv6.parse(text), 128] : undefined;
}
