/** The view of the audit trail: entries, newest first, with a filter. */
import { useState } from "preact/hooks";
import { count, number } from "../../../../base/count-text.js";
import type { AuditView } from "../../views.js";
import { serverNow } from "../clock.js";
import { useLive } from "../live.js";
import { SearchField } from "../parts/controls/search-field.js";
import { chosen, SelectField } from "../parts/controls/select-field.js";
import { Command, Empty } from "../parts/messages.js";
import { View } from "../parts/view.js";
import { queryOf, useRoute } from "../route.js";
import { EntryTable } from "./entry-table.js";

const STEP = 200;
/** The most entries that the page shows; a filter finds older ones. */
const MOST = 10_000;

const TIMES = [
  { value: "", text: "any time", minutes: null },
  { value: "5m", text: "the last 5 minutes", minutes: 5 },
  { value: "1h", text: "the last hour", minutes: 60 },
  { value: "24h", text: "the last day", minutes: 24 * 60 },
  { value: "7d", text: "the last 7 days", minutes: 7 * 24 * 60 },
] as const;

export function Audit() {
  const { params } = useRoute();
  const [limit, setLimit] = useState(STEP);
  const event = params.get("event") ?? "";
  const since = chosen(params, "since", TIMES) ?? TIMES[0];
  const filter = { text: params.get("text"), event, resource: params.get("resource"), owner: params.get("owner") };
  const pathWith = (from: string): string => `/api/audit?${queryOf({ ...filter, since: from, limit })}`;
  const live = useLive<AuditView>(pathWith(since.value), () =>
    pathWith(since.minutes === null ? "" : new Date(serverNow() - since.minutes * 60_000).toISOString()),
  );
  const search = queryOf({ ...filter, since: since.value });
  const events = live.data?.events ?? (event === "" ? [] : [event]);

  return (
    <View
      title="Audit"
      live={live}
      summary={foundText}
      search={{ what: search, result: (view) => (view.searched < 1 ? null : foundText(view)) }}
      filters={
        <>
          <SearchField label="Search" hint="anywhere in an entry" param="text" isWide />
          <SearchField label="Key, and below it" param="resource" />
          <SearchField label="Owner" param="owner" />
          <SelectField
            label="Event"
            param="event"
            choices={[
              { value: "", text: "all events" },
              ...events.map((each) => ({ value: each, text: each.replaceAll("_", " ") })),
            ]}
          />
          <SelectField label="Since" param="since" choices={TIMES} />
        </>
      }
    >
      {(view) => (
        <>
          {view.searched < 1 && <Searching searched={view.searched} />}
          <EntryTable
            entries={view.entries}
            caption="Entries of the record, newest first"
            list={live.asked}
            empty={view.searched === 1 ? <NoEntries isFiltered={search !== ""} /> : null}
          />
          {view.has_more && limit < MOST && (
            <p class="more">
              <button type="button" onClick={() => setLimit(limit + STEP)}>
                Older
              </button>{" "}
              <span class="quiet">{number(view.entries.length)} shown, there are more</span>
            </p>
          )}
        </>
      )}
    </View>
  );
}

function foundText({ entries, has_more: hasMore, searched }: AuditView): string {
  if (hasMore) return `the newest ${number(entries.length)} entries`;
  return `${count(entries.length, "entry", "entries")}${searched < 1 ? " so far" : ""}`;
}

/** Says that the search goes on, so that what is shown is not mistaken for all of it. */
function Searching({ searched }: { readonly searched: number }) {
  return (
    <p class="notice">
      Searching the record: {Math.floor(100 * searched)} % so far. What is older than what is shown is still to come.
    </p>
  );
}

function NoEntries({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered)
    return (
      <Empty title="No entry matches.">
        <p>An owner must be written in full, such as agent:maps; a key finds what is below it too.</p>
      </Empty>
    );
  return (
    <Empty title="Nothing is on record yet.">
      <p>Each grant and each end of a lock leaves an entry here. For example:</p>
      <Command>holdfast run project:alpha -- make</Command>
    </Empty>
  );
}
