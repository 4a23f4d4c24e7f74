import { InvalidArgumentError } from 'commander';

/** Reads a whole number of a range. */
export function whole(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It is a whole number from ${least} to ${most}.`);
  };
}

/** Reads a URL with http or https. */
export function webUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new InvalidArgumentError('It is a URL with https or http.');
}

/** Reads an origin, such as https://pods.example; a slash at its end is left out. */
export function origin(text: string): string {
  const url = webUrl(text);
  if (url.pathname === '/') return url.origin;
  throw new InvalidArgumentError('It is an origin, such as https://pods.example.');
}

/** Reads a text that has to have characters. */
export function notEmpty(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('It has no characters.');
}
