import { useSignal } from '@preact/signals';
import { podcasts } from '../data/podcasts.js';

/**
 * Renders the picture of a podcast, else the first letters of its name on a colour of its guid. The
 * policy of the page blocks pictures that other servers serve.
 */
export function Picture({ guid, name }: { guid: string; name: string }) {
  const failed = useSignal<string | undefined>(undefined);
  const artwork = podcasts.value.get(guid)?.artwork;
  const isShown = artwork !== undefined && artwork !== failed.value;
  const hue = (Number.parseInt(guid.slice(0, 4), 16) * 137) % 360;
  return (
    <span class="picture" style={{ '--hue': String(hue) }} aria-hidden="true">
      {isShown ? (
        <img src={artwork} alt="" loading="lazy" onError={() => void (failed.value = artwork)} />
      ) : (
        initialsOf(name)
      )}
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
