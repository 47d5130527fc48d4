/** The view of the timeline: the holders of each key in the last minutes. */
import { useState } from "preact/hooks";
import { count, number } from "../../../../base/count-text.js";
import type { TimelineView } from "../../views.js";
import { useLive } from "../live.js";
import { SearchField } from "../parts/controls/search-field.js";
import { chosen, SelectField } from "../parts/controls/select-field.js";
import { Command, Empty } from "../parts/messages.js";
import { At } from "../parts/times.js";
import { View } from "../parts/view.js";
import { pushParams, queryOf, useRoute } from "../route.js";
import { type Pointed, pointedText } from "./bar-text.js";
import { Chart } from "./chart.js";
import { HoldTable } from "./hold-table.js";
import { Legend } from "./legend.js";

const USUAL = "15";
const WINDOWS = [
  { value: "5", text: "5 minutes" },
  { value: "15", text: "15 minutes" },
  { value: "60", text: "60 minutes" },
];

export function Timeline() {
  const { params } = useRoute();
  const text = params.get("text") ?? "";
  const minutes = chosen(params, "minutes", WINDOWS)?.value ?? USUAL;
  const isTable = params.get("as") === "table";
  const live = useLive<TimelineView>(`/api/timeline?${queryOf({ minutes, text })}`);

  return (
    <View
      title="Timeline"
      live={live}
      summary={(view) => (
        <>
          {keysText(view)} held in the last {minutes} minutes
          {!view.is_all && (
            <>
              ; there is too much to show it all: the picture begins at <At at={view.since} />
            </>
          )}
        </>
      )}
      search={{ what: text, result: keysText }}
      filters={
        <>
          <SearchField label="Search" hint="key or owner" param="text" isWide />
          <SelectField label="The last" param="minutes" choices={WINDOWS} usual={USUAL} />
          <button type="button" aria-pressed={isTable} onClick={() => pushParams({ as: isTable ? null : "table" })}>
            As a table
          </button>
        </>
      }
    >
      {(view) => (
        <>
          {view.rows.length === 0 && <NothingHeld text={text} minutes={minutes} />}
          {view.rows.length > 0 && (isTable ? <HoldTable view={view} /> : <PointedChart view={view} />)}
          {view.more > 0 && <p class="more quiet">{count(view.more, "more key")} had holds. Search to see them.</p>}
        </>
      )}
    </View>
  );
}

function PointedChart({ view }: { readonly view: TimelineView }) {
  const [pointed, setPointed] = useState<Pointed | null>(null);
  return (
    <>
      <div class="chart-head">
        <Legend />
        <p class="pointed">
          {pointed === null
            ? "Point at a bar, or go to it with Tab and the arrow keys, to read what it is."
            : pointedText(pointed, view)}
        </p>
      </div>
      <Chart view={view} onPoint={setPointed} />
    </>
  );
}

function keysText({ rows, more }: TimelineView): string {
  return more === 0
    ? count(rows.length, "key")
    : `the busiest ${number(rows.length)} of ${count(rows.length + more, "key")}`;
}

function NothingHeld({ text, minutes }: { readonly text: string; readonly minutes: string }) {
  if (text !== "") return <Empty title={`Nothing that matches “${text}” was held in the last ${minutes} minutes.`} />;
  return (
    <Empty title={`Nothing was held in the last ${minutes} minutes.`}>
      <p>Each hold shows here as a bar, also after its end. For example:</p>
      <Command>holdfast run project:alpha -- sleep 20</Command>
    </Empty>
  );
}
