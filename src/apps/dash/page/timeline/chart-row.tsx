/** The holds of one key as a row of bars. Each row is one stop of the Tab key; the arrow keys move along it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "../../../../base/count-text.js";
import type { TimelineView } from "../../views.js";
import { Key } from "../parts/key.js";
import { hrefOf } from "../route.js";
import type { Pointed } from "./bar-text.js";
import { type Bar, barsOf, type Window } from "./bars.js";
import { endName, holdsText, MARKS } from "./hold-words.js";

const LANE_PX = 18;
/** Where a letter has room. */
const LETTER_PX = 16;

export function ChartRow(props: {
  readonly row: TimelineView["rows"][number];
  readonly window: Window;
  readonly ticks: readonly { readonly at: number; readonly left: number }[];
  readonly onPoint: (pointed: Pointed) => void;
}) {
  const { row, window, ticks, onPoint } = props;
  const { bars, lanes } = barsOf(row.spans, window);
  const [chosen, setChosen] = useState<string | null>(null);
  const track = useRef<HTMLDivElement>(null);
  const hasFocus = useRef(false);
  const current = bars.find(({ id }) => id === chosen) ?? bars.at(-1);

  /** The bar with the focus may have left the window. */
  useEffect(() => {
    if (!hasFocus.current || document.activeElement !== document.body) return;
    track.current?.querySelector<HTMLButtonElement>("button[tabindex='0']")?.focus();
  });

  const go = (event: KeyboardEvent): void => {
    const at = current === undefined ? -1 : bars.indexOf(current);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: bars.length - 1 }[event.key];
    const bar = next === undefined ? undefined : bars[next];
    if (bar === undefined) return;
    event.preventDefault();
    setChosen(bar.id);
    track.current?.querySelector<HTMLButtonElement>(`[data-hold="${CSS.escape(bar.id)}"]`)?.focus();
  };

  const point = (bar: Bar): void => onPoint({ resource: row.resource, holds: bar.spans });

  return (
    <li class="chart-row">
      <a class="chart-key" href={hrefOf("audit", { resource: row.resource })} title="its entries in the audit">
        <Key>{row.resource}</Key>
      </a>
      <div
        ref={track}
        class="track"
        role="toolbar"
        aria-label={`${count(row.spans.length, "hold")} of ${row.resource}`}
        style={{ blockSize: `${lanes * LANE_PX}px` }}
        onKeyDown={go}
        onFocusIn={() => {
          hasFocus.current = true;
        }}
        onFocusOut={() => {
          hasFocus.current = false;
        }}
      >
        {ticks.map(({ at, left }) => (
          <span key={at} class="tick-line" aria-hidden="true" style={{ insetInlineStart: `${left * 100}%` }} />
        ))}
        {bars.map((bar) => (
          <button
            key={bar.id}
            type="button"
            data-hold={bar.id}
            class={`bar bar-${endName(bar.ended)}${bar.spans.length > 1 ? " bar-many" : ""}`}
            aria-label={holdsText(bar.spans)}
            tabIndex={bar === current ? 0 : -1}
            style={{
              insetInlineStart: `${bar.left * 100}%`,
              inlineSize: `${bar.width * 100}%`,
              insetBlockStart: `${bar.lane * LANE_PX + 2}px`,
            }}
            onMouseEnter={() => point(bar)}
            onFocus={() => {
              setChosen(bar.id);
              point(bar);
            }}
            onClick={() => point(bar)}
          >
            {bar.width * window.widthPx >= LETTER_PX && MARKS[endName(bar.ended)] !== "" && (
              <span class="mark">{MARKS[endName(bar.ended)]}</span>
            )}
          </button>
        ))}
      </div>
    </li>
  );
}
