/** The timeline as a chart: a row for each key, over one time axis. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { TimelineView } from "../../views.js";
import { ShowMore, useLimit } from "../parts/controls/show-more.js";
import { clockTime } from "../time.js";
import type { Pointed } from "./bar-text.js";
import { ticksOf, type Window } from "./bars.js";
import { ChartRow } from "./chart-row.js";

const USUAL_PX = 800;
const SOME_ROWS = 30;

export function Chart(props: { readonly view: TimelineView; readonly onPoint: (pointed: Pointed) => void }) {
  const { view, onPoint } = props;
  const { limit, more } = useLimit(SOME_ROWS);
  const track = useRef<HTMLDivElement>(null);
  const [widthPx, setWidth] = useState(USUAL_PX);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? USUAL_PX)));
    if (track.current !== null) watcher.observe(track.current);
    return () => watcher.disconnect();
  }, []);
  const window: Window = { sinceMs: Date.parse(view.since), nowMs: Date.parse(view.now), widthPx };
  const ticks = ticksOf(window);
  return (
    <div class="chart">
      <div class="axis" aria-hidden="true">
        <div class="axis-track" ref={track}>
          {ticks.map(({ at, left }) => (
            <span key={at} class="tick" style={{ insetInlineStart: `${left * 100}%` }}>
              {clockTime(new Date(at).toISOString(), window.nowMs).slice(-8, -3)}
            </span>
          ))}
        </div>
      </div>
      <ul class="chart-rows">
        {view.rows.slice(0, limit).map((row) => (
          <ChartRow key={row.resource} row={row} window={window} ticks={ticks} onPoint={onPoint} />
        ))}
      </ul>
      <ShowMore hidden={view.rows.length - limit} onMore={more} what="keys" />
    </div>
  );
}
