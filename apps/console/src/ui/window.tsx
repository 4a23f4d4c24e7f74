import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Number of rendered rows beyond each edge of the screen, for keys and screen readers. */
const beyond = 8;

/** Props of {@link WindowedList}. */
export interface WindowedListProps<Item> {
  readonly label: string;
  /** Rows have more lines on phones. */
  readonly isTall?: boolean;
  readonly items: readonly Item[];
  /** The expected number of items. Placeholders stand for items that are not loaded. */
  readonly expected?: number | undefined;
  keyOf(item: Item): string;
  row(item: Item): ComponentChildren;
  /** Called when the last loaded item comes near the screen. */
  onEnd?(): void;
}

/**
 * Renders a list whose document only contains the visible rows and the focused one. All rows have
 * the same height, so that loaded rows do not move others.
 */
export function WindowedList<Item>({
  label,
  isTall,
  items,
  expected = 0,
  keyOf,
  row,
  onEnd,
}: WindowedListProps<Item>) {
  const list = useRef<HTMLUListElement>(null);
  const [focused, setFocused] = useState(-1);
  const length = Math.max(items.length, expected);
  const { first, last, rowRem } = useVisibleRange(list, items.length, length, onEnd);

  const places = Array.from(
    { length: Math.max(Math.min(last, length) - first, 0) },
    (_, at) => first + at,
  );
  if (focused >= 0 && focused < items.length && !places.includes(focused)) places.push(focused);
  places.sort((one, other) => one - other);
  return (
    <ul
      ref={list}
      class={isTall ? 'window tall' : 'window'}
      role="list"
      aria-label={label}
      style={{ height: `${length * rowRem}rem` }}
      onFocusOut={() => setFocused(-1)}
    >
      {places.map((at) => {
        const item = items[at];
        return (
          <li
            key={item === undefined ? `place-${at}` : keyOf(item)}
            style={{ transform: `translateY(${at * rowRem}rem)` }}
            aria-setsize={length}
            aria-posinset={at + 1}
            onFocusIn={() => setFocused(at)}
          >
            {item === undefined ? <span class="skeleton" aria-hidden="true" /> : row(item)}
          </li>
        );
      })}
    </ul>
  );
}

/** Returns the indexes of the first row and the row after the last one near the screen. */
function useVisibleRange(
  list: RefObject<HTMLUListElement | null>,
  loaded: number,
  length: number,
  onEnd?: () => void,
) {
  const [{ first, last }, setRange] = useState({ first: 0, last: beyond });
  // The row height in rem, from the stylesheet.
  const [rowRem, setRowRem] = useState(4.5);
  useLayoutEffect(() => {
    const look = () => {
      if (!list.current) return;
      const rem = parseFloat(getComputedStyle(list.current).getPropertyValue('--row'));
      setRowRem(rem);
      const height = rem * parseFloat(getComputedStyle(document.documentElement).fontSize);
      const { top } = list.current.getBoundingClientRect();
      const from = Math.max(Math.floor(-top / height) - beyond, 0);
      const to = Math.ceil((innerHeight - top) / height) + beyond;
      setRange((range) =>
        range.first === from && range.last === to ? range : { first: from, last: to },
      );
      if (to >= loaded) onEnd?.();
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [loaded, length, onEnd]);
  return { first, last, rowRem };
}
