import { useSignal } from '@preact/signals';
import { podcasts } from '../data/podcasts.js';

/**
 * Renders the server's copy of a podcast's picture, because the content security policy of the page
 * blocks pictures of other servers. Without a copy, renders the initials of the name. Their
 * background colour depends on the guid.
 */
export function Picture({ guid, name }: { guid: string; name: string }) {
  const failedArtwork = useSignal<string | undefined>(undefined);
  const artwork = podcasts.value.get(guid)?.artwork;
  const isShown = artwork !== undefined && artwork !== failedArtwork.value;
  const hue = (Number.parseInt(guid.slice(0, 4), 16) * 137) % 360;
  return (
    <span class="picture" style={{ '--hue': String(hue) }} aria-hidden="true">
      {isShown ? (
        <img
          src={artwork}
          alt=""
          loading="lazy"
          onError={() => void (failedArtwork.value = artwork)}
        />
      ) : (
        takeInitials(name)
      )}
    </span>
  );
}

/** Returns the first letter or digit of each of the first two words. */
function takeInitials(name: string): string {
  const words = name.slice(0, 200).match(/[\p{L}\p{N}]+/gu) ?? [];
  return words
    .slice(0, 2)
    .map((word) => [...word][0])
    .join('');
}
