import { useSignal } from '@preact/signals';
import { roundScale } from '../data/statistics.rules.js';
import { locale } from '../texts/texts.js';

/** A bar of a plot, with its texts. */
export interface PlottedBar {
  readonly label: string;
  /** Height of the bar, at least 0. */
  readonly value: number;
  /** Text that is shown for the selected bar: its label, and its value with the unit. */
  readonly text: string;
}

interface PlotProps {
  /** Name of the unit of time that a bar stands for, such as `Week`. */
  readonly label: string;
  readonly bars: readonly PlottedBar[];
}

/**
 * Renders a bar chart and the text of the selected bar. The pointer selects a bar, and so do the
 * arrow keys of a transparent range input that covers the bars. Initially the last bar is selected.
 */
export function Plot({ label, bars }: PlotProps) {
  const selected = useSignal(bars.length - 1);
  const top = roundScale(Math.max(...bars.map(({ value }) => value)));
  const text = bars[selected.value]?.text;
  const select = ({ currentTarget, clientX }: PointerEvent & { currentTarget: HTMLElement }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const at = Math.floor(((clientX - left) / width) * bars.length);
    selected.value = Math.min(Math.max(at, 0), bars.length - 1);
  };
  return (
    <figure class="plot">
      <figcaption>{text}</figcaption>
      <div class="scale quiet small" aria-hidden="true">
        <span>{top.toLocaleString(locale)}</span>
        <span>{(top / 2).toLocaleString(locale)}</span>
        <span>0</span>
      </div>
      <div class="bars" style={{ '--bars': String(bars.length) }} onPointerMove={select}>
        <svg viewBox={`0 0 ${bars.length} 100`} preserveAspectRatio="none" aria-hidden="true">
          <path d={`M0 .5H${bars.length}M0 50H${bars.length}M0 99.5H${bars.length}`} />
          {bars.map(({ value }, at) => (
            <rect
              key={at}
              class={at === selected.value ? 'selected' : undefined}
              x={at + 0.1}
              width={0.8}
              y={100 - (100 * value) / top}
              height={(100 * value) / top}
            />
          ))}
        </svg>
        <input
          type="range"
          aria-label={label}
          aria-valuetext={text}
          max={bars.length - 1}
          value={selected.value}
          onInput={({ currentTarget }) => (selected.value = currentTarget.valueAsNumber)}
        />
      </div>
      <div class="ends quiet small" aria-hidden="true">
        <span>{bars[0]?.label}</span>
        <span>{bars.length > 1 && bars.at(-1)?.label}</span>
      </div>
    </figure>
  );
}
