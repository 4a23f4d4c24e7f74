import { InvalidArgumentError } from 'commander';

/** Returns a parser for integers from `min` to `max`. It throws InvalidArgumentError. */
export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** Parses a URL with http or https. @throws InvalidArgumentError */
export function parseWebUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new InvalidArgumentError('Expected a URL with https or http.');
}

/**
 * Parses an origin, such as https://pods.example, and removes a final slash.
 *
 * @throws InvalidArgumentError
 */
export function parseOrigin(text: string): string {
  const url = parseWebUrl(text);
  if (url.pathname === '/') return url.origin;
  throw new InvalidArgumentError('Expected an origin, such as https://pods.example.');
}

/** Returns a text that is not empty. @throws InvalidArgumentError */
export function parseNotEmpty(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('Must not be empty.');
}
