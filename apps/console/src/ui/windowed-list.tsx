import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Number of rows rendered beyond each edge of the screen, for keyboards and screen readers. */
const extraRows = 8;

interface WindowedListProps<Item> {
  readonly label: string;
  /** True if rows have more lines on phones. */
  readonly isTall?: boolean;
  readonly items: readonly Item[];
  /** The expected number of items. Placeholders represent items that are not loaded. */
  readonly expectedCount?: number | undefined;
  keyOf(item: Item): string;
  renderRow(item: Item): ComponentChildren;
  /** Called when the user scrolls near the last loaded item. */
  onNearEnd?(): void;
}

/**
 * Renders a list. The document contains only the rows near the screen and the focused row. All rows
 * have the same height, so newly loaded rows do not move other rows.
 */
export function WindowedList<Item>({
  label,
  isTall,
  items,
  expectedCount = 0,
  keyOf,
  renderRow,
  onNearEnd,
}: WindowedListProps<Item>) {
  const list = useRef<HTMLUListElement>(null);
  const [focusedIndex, setFocusedIndex] = useState(-1);
  const rowCount = Math.max(items.length, expectedCount);
  const { first, end, rowRem } = useVisibleRange(list, items.length, rowCount, onNearEnd);

  const indexes = Array.from(
    { length: Math.max(Math.min(end, rowCount) - first, 0) },
    (_, offset) => first + offset,
  );
  if (focusedIndex >= 0 && focusedIndex < items.length && !indexes.includes(focusedIndex))
    indexes.push(focusedIndex);
  indexes.sort((one, other) => one - other);
  return (
    <ul
      ref={list}
      class={isTall ? 'window tall' : 'window'}
      role="list"
      aria-label={label}
      style={{ height: `${rowCount * rowRem}rem` }}
      onFocusOut={() => setFocusedIndex(-1)}
    >
      {indexes.map((index) => {
        const item = items[index];
        return (
          <li
            key={item === undefined ? `placeholder-${index}` : keyOf(item)}
            style={{ transform: `translateY(${index * rowRem}rem)` }}
            aria-setsize={rowCount}
            aria-posinset={index + 1}
            onFocusIn={() => setFocusedIndex(index)}
          >
            {item === undefined ? <span class="skeleton" aria-hidden="true" /> : renderRow(item)}
          </li>
        );
      })}
    </ul>
  );
}

/** Returns the range of rows near the screen (without `end`) and the height of a row in rem. */
function useVisibleRange(
  list: RefObject<HTMLUListElement | null>,
  loadedCount: number,
  rowCount: number,
  onNearEnd?: () => void,
) {
  const [{ first, end }, setRange] = useState({ first: 0, end: extraRows });
  // Height of a row in rem: `--row` of the stylesheet, which media queries change.
  const [rowRem, setRowRem] = useState(4.5);
  useLayoutEffect(() => {
    const measureRows = () => {
      if (!list.current) return;
      const rem = parseFloat(getComputedStyle(list.current).getPropertyValue('--row'));
      setRowRem(rem);
      const rowHeight = rem * parseFloat(getComputedStyle(document.documentElement).fontSize);
      const { top } = list.current.getBoundingClientRect();
      const newFirst = Math.max(Math.floor(-top / rowHeight) - extraRows, 0);
      const newEnd = Math.ceil((innerHeight - top) / rowHeight) + extraRows;
      setRange((range) =>
        range.first === newFirst && range.end === newEnd ? range : { first: newFirst, end: newEnd },
      );
      if (newEnd >= loadedCount) onNearEnd?.();
    };
    measureRows();
    addEventListener('scroll', measureRows, { passive: true });
    addEventListener('resize', measureRows);
    return () => {
      removeEventListener('scroll', measureRows);
      removeEventListener('resize', measureRows);
    };
  }, [loadedCount, rowCount, onNearEnd]);
  return { first, end, rowRem };
}
