import { useSignal } from '@preact/signals';
import { roundScale } from '../data/statistics.rules.js';
import { locale } from '../texts/texts.js';

/** A bar of a plot with its texts. */
export interface PlottedBar {
  /** Text below the first and the last bar. */
  readonly label: string;
  /** Height of the bar, at least 0. */
  readonly value: number;
  /** Text that is shown for the selected bar: its label, and its value with the unit. */
  readonly text: string;
}

interface PlotProps {
  /** Accessible name of the range input, such as `Listening by week`. */
  readonly label: string;
  readonly bars: readonly PlottedBar[];
}

/**
 * Renders a bar chart and the text of the selected bar, initially the last one. The pointer selects
 * a bar. For the arrow keys, a transparent range input covers the bars.
 */
export function Plot({ label, bars }: PlotProps) {
  const selectedIndex = useSignal(bars.length - 1);
  const axisEnd = roundScale(Math.max(...bars.map(({ value }) => value)));
  const selectedText = bars[selectedIndex.value]?.text;
  const selectAtPointer = ({
    currentTarget,
    clientX,
  }: PointerEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const index = Math.floor(((clientX - left) / width) * bars.length);
    selectedIndex.value = Math.min(Math.max(index, 0), bars.length - 1);
  };
  return (
    <figure class="plot">
      <figcaption>{selectedText}</figcaption>
      <div class="scale quiet small" aria-hidden="true">
        <span>{axisEnd.toLocaleString(locale)}</span>
        <span>{(axisEnd / 2).toLocaleString(locale)}</span>
        <span>0</span>
      </div>
      <div class="bars" style={{ '--bars': String(bars.length) }} onPointerMove={selectAtPointer}>
        <svg viewBox={`0 0 ${bars.length} 100`} preserveAspectRatio="none" aria-hidden="true">
          <path d={`M0 .5H${bars.length}M0 50H${bars.length}M0 99.5H${bars.length}`} />
          {bars.map(({ value }, index) => (
            <rect
              key={index}
              class={index === selectedIndex.value ? 'selected' : undefined}
              x={index + 0.1}
              width={0.8}
              y={100 - (100 * value) / axisEnd}
              height={(100 * value) / axisEnd}
            />
          ))}
        </svg>
        <input
          type="range"
          aria-label={label}
          aria-valuetext={selectedText}
          max={bars.length - 1}
          value={selectedIndex.value}
          onInput={({ currentTarget }) => (selectedIndex.value = currentTarget.valueAsNumber)}
        />
      </div>
      <div class="ends quiet small" aria-hidden="true">
        <span>{bars[0]?.label}</span>
        <span>{bars.length > 1 && bars.at(-1)?.label}</span>
      </div>
    </figure>
  );
}
