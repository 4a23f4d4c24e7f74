/** Pairs of equal URLs by RFC 3986, 6.2.2 and 6.2.3, or as IDN, with the same derived guid. */
export const equalUrls = [
  ['https://feeds.example.com/x', 'https://Feeds.Example.com/x'],
  ['https://feeds.example.com/x', 'HTTPS://feeds.example.com/x'],
  ['https://feeds.example.com/x', 'https://feeds.example.com:443/x'],
  ['http://feeds.example.com/x', 'http://feeds.example.com:80/x'],
  ['https://feeds.example.com/', 'https://feeds.example.com'],
  ['https://feeds.example.com/~a', 'https://feeds.example.com/%7Ea'],
  ['https://feeds.example.com/x%3Ay', 'https://feeds.example.com/x%3ay'],
  ['https://feeds.example.com/x', 'https://feeds.example.com/a/../x'],
  ['https://feeds.example.com/x', 'https://feeds.example.com/./x'],
  ['https://xn--mller-kva.example/x', 'https://m\u00fcller.example/x'],
  ['https://m\u00fcller.example/x', 'https://M\u00dcLLER.example/x'],
  ['https://feeds.example.com/caf%C3%A9?q=%C3%A9', 'https://feeds.example.com/caf\u00e9?q=%c3%a9'],
] as const;

/** Pairs of URLs that are equal after percent-decoding; their derived guids differ. */
export const decodedUrls = [
  ['https://feeds.example.com/x%3Ay', 'https://feeds.example.com/x:y'],
  [
    'https://feeds.example.com/?u=https%3A%2F%2Fa.example',
    'https://feeds.example.com/?u=https://a.example',
  ],
] as const;

/** Pairs of URLs that are neither equal nor have the same derived guid. */
export const differentUrls = [
  ['https://feeds.example.com/x', 'https://feeds.example.com/X'],
  ['https://feeds.example.com/x', 'https://feeds.example.com/x?'],
  ['https://feeds.example.com/x', 'https://feeds.example.com/x#y'],
  ['https://feeds.example.com/?a=1&b=2', 'https://feeds.example.com/?b=2&a=1'],
  ['https://feeds.example.com/x', 'https://feeds.example.com:8443/x'],
  ['https://feeds.example.com/x', 'https://ann@feeds.example.com/x'],
  ['https://feeds.example.com/x/y', 'https://feeds.example.com/x//y'],
  ['https://feeds.example.com/x%252Fy', 'https://feeds.example.com/x%2Fy'],
] as const;

/** Returns each pair in both orders. */
export function inBothOrders(
  pairs: readonly (readonly [string, string])[],
): [first: string, second: string][] {
  return pairs.flatMap(([one, other]): [string, string][] => [
    [one, other],
    [other, one],
  ]);
}
