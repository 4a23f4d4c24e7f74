import { podcasts } from '../data/podcasts.js';

/** Renders the picture of a podcast, else the first letters of its name on a colour of its guid. */
export function Picture({ guid, name }: { guid: string; name: string }) {
  const artwork = podcasts.value.get(guid)?.artwork;
  const hue = (Number.parseInt(guid.slice(0, 4), 16) * 137) % 360;
  return (
    <span class="picture" style={{ '--hue': String(hue) }} aria-hidden="true">
      {artwork === undefined ? initialsOf(name) : <img src={artwork} alt="" loading="lazy" />}
    </span>
  );
}

/** Returns the first letter or digit of the first two words. */
function initialsOf(name: string): string {
  const words = name.slice(0, 200).match(/[\p{L}\p{N}]+/gu) ?? [];
  return words
    .slice(0, 2)
    .map((word) => [...word][0])
    .join('');
}
