/** The view of the timeline: the holders of each key in the last minutes. */
import { useState } from "preact/hooks";
import type { TimelineView } from "../../views.js";
import { useSearchResult } from "../announce.js";
import { useLive } from "../live.js";
import { SearchField } from "../parts/controls/search-field.js";
import { SelectField } from "../parts/controls/select-field.js";
import { ViewHeading } from "../parts/heading.js";
import { Answer, Command, Empty } from "../parts/messages.js";
import { At } from "../parts/times.js";
import { pushParams, queryOf, replaceParams, useRoute } from "../route.js";
import { count, number } from "../words.js";
import { type Pointed, pointedText } from "./bar-text.js";
import { Chart } from "./chart.js";
import { HoldTable } from "./hold-table.js";
import { Legend } from "./legend.js";

const WINDOWS = [
  { value: "5", text: "5 minutes" },
  { value: "15", text: "15 minutes" },
  { value: "60", text: "60 minutes" },
];

export function Timeline() {
  const { params } = useRoute();
  const text = params.get("text") ?? "";
  const minutes = WINDOWS.find(({ value }) => value === params.get("minutes"))?.value ?? "15";
  const isTable = params.get("as") === "table";
  const live = useLive<TimelineView>(`/api/timeline?${queryOf({ minutes, text })}`);
  const { data } = live;
  const [pointed, setPointed] = useState<Pointed | null>(null);
  useSearchResult(text, data === null || !live.isCurrent ? null : keysText(data));

  return (
    <>
      <ViewHeading title="Timeline">
        {data !== null && (
          <>
            {keysText(data)} held in the last {minutes} minutes
            {!data.is_all && (
              <>
                ; there is too much to show it all: the picture begins at <At at={data.since} />
              </>
            )}
          </>
        )}
      </ViewHeading>
      <search class="tools">
        <SearchField
          label="Search"
          hint="key or owner"
          value={text}
          isWide
          onSearch={(next) => replaceParams({ text: next })}
        />
        <SelectField
          label="The last"
          value={minutes}
          choices={WINDOWS}
          onChoose={(next) => pushParams({ minutes: next === "15" ? null : next })}
        />
        <button type="button" aria-pressed={isTable} onClick={() => pushParams({ as: isTable ? null : "table" })}>
          As a table
        </button>
      </search>
      <Answer live={live}>
        {(view) => {
          if (view.rows.length === 0) return <NothingHeld text={text} minutes={minutes} />;
          if (isTable) return <HoldTable view={view} />;
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
        }}
      </Answer>
      {data !== null && data.more > 0 && (
        <p class="more quiet">{count(data.more, "more key")} had holds. Search to see them.</p>
      )}
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
      <p>Whatever is held shows here as a bar, also when it is over. For example:</p>
      <Command>holdfast run project:alpha -- sleep 20</Command>
    </Empty>
  );
}
