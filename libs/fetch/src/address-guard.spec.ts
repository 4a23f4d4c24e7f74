import { describe, expect, it } from 'vitest';
import { AddressGuard } from './address-guard.js';

describe('AddressGuard', () => {
  it.each(['8.8.8.8', '193.99.144.80', '2606:4700::1111', '64:ff9b::808:808'])(
    'allows the public address %s on the public ports only',
    (address) => {
      const guard = new AddressGuard();
      const ports = [80, 443, 22, 8080].filter((port) => guard.allowsAddress(address, port));
      expect(ports).toEqual([80, 443]);
    },
  );

  it.each<[string, string, number, boolean]>([
    ['192.168.1.0/24', '192.168.1.7', 3000, true],
    ['192.168.1.0/24', '192.168.2.7', 3000, false],
    ['127.0.0.1/32:8080', '127.0.0.1', 8080, true],
    ['127.0.0.1:8080', '127.0.0.1', 8081, false],
    ['[fd00::/8]:8080', 'fd12::1', 8080, true],
    ['fd00::/8', 'fd12::1', 1, true],
    ['[fd00::/8]', 'fd12::1', 1, true],
    ['fd00::1', 'fd00::2', 1, false],
    ['127.0.0.0/8', '::ffff:127.0.0.1', 80, false],
  ])('opens %s: %s, port %i is %s', (exception, address, port, isAllowed) => {
    expect(new AddressGuard([exception]).allowsAddress(address, port)).toBe(isAllowed);
  });

  it.each([
    ['example.org', true],
    ['example.org.', true],
    ['intranet', false],
    ['printer.local', false],
    ['printer.local.', false],
    ['api.default.svc', false],
    ['metadata.google.internal', false],
    ['1.0.0.127.in-addr.arpa', false],
    ['rss-bridge', true],
  ])('the name %s may be resolved: %s', (name, isAllowed) => {
    expect(new AddressGuard(['rss-bridge:3000']).allowsName(name, 3000)).toBe(isAllowed);
  });

  it.each([
    ['192.168.1.7', true],
    ['nas.lan', true],
    ['8.8.8.8', false],
    ['other.lan', false],
  ])('%s is an exception: %s', (host, isException) => {
    expect(new AddressGuard(['192.168.1.0/24', 'nas.lan:80']).isException(host, 80)).toBe(
      isException,
    );
  });

  it.each(['', '*', '10.0.0.0/33', 'a b', 'http://x', '127.0.0.1:'])(
    'rejects the exception "%s"',
    (entry) => {
      expect(() => new AddressGuard([entry])).toThrow(`"${entry}" is not a network`);
    },
  );
});
