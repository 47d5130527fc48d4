/** The view of the audit trail: entries, newest first, with a filter. */
import { useState } from "preact/hooks";
import type { AuditView } from "../../views.js";
import { useSearchResult } from "../announce.js";
import { serverNow } from "../clock.js";
import { useLive } from "../live.js";
import { SearchField } from "../parts/controls/search-field.js";
import { SelectField } from "../parts/controls/select-field.js";
import { ViewHeading } from "../parts/heading.js";
import { Answer, Command, Empty } from "../parts/messages.js";
import { pushParams, queryOf, replaceParams, useRoute } from "../route.js";
import { count, number } from "../words.js";
import { EntryTable } from "./entry-table.js";

const STEP = 200;
/** More are not told at once: a filter finds what is older. */
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
  const text = params.get("text") ?? "";
  const event = params.get("event") ?? "";
  const resource = params.get("resource") ?? "";
  const owner = params.get("owner") ?? "";
  const since = TIMES.find(({ value }) => value === params.get("since")) ?? TIMES[0];
  const pathWith = (from: string): string =>
    `/api/audit?${queryOf({ text, event, resource, owner, since: from, limit })}`;
  const live = useLive<AuditView>(pathWith(since.value), () =>
    pathWith(since.minutes === null ? "" : new Date(serverNow() - since.minutes * 60_000).toISOString()),
  );
  const { data } = live;
  const filter = queryOf({ text, event, resource, owner, since: since.value });
  const events = data?.events ?? (event === "" ? [] : [event]);
  useSearchResult(filter, data === null || !live.isCurrent || data.searched < 1 ? null : foundText(data));

  return (
    <>
      <ViewHeading title="Audit">{data === null ? "" : foundText(data)}</ViewHeading>
      <search class="tools">
        <SearchField
          label="Search"
          hint="anywhere in an entry"
          value={text}
          onSearch={(next) => replaceParams({ text: next })}
          isWide
        />
        <SearchField
          label="Key, and below it"
          value={resource}
          onSearch={(next) => replaceParams({ resource: next })}
        />
        <SearchField label="Owner" value={owner} onSearch={(next) => replaceParams({ owner: next })} />
        <SelectField
          label="Event"
          value={event}
          choices={[
            { value: "", text: "all events" },
            ...events.map((each) => ({ value: each, text: each.replaceAll("_", " ") })),
          ]}
          onChoose={(next) => pushParams({ event: next })}
        />
        <SelectField
          label="Since"
          value={since.value}
          choices={TIMES}
          onChoose={(next) => pushParams({ since: next })}
        />
      </search>
      <Answer live={live}>
        {(view) => (
          <>
            {view.searched < 1 && <Searching searched={view.searched} />}
            {view.entries.length === 0 && view.searched === 1 && <NoEntries isFiltered={filter !== ""} />}
            {view.entries.length > 0 && (
              <EntryTable entries={view.entries} caption="Entries of the record, newest first" list={live.asked} />
            )}
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
      </Answer>
    </>
  );
}

function foundText({ entries, has_more: hasMore, searched }: AuditView): string {
  if (hasMore) return `the newest ${number(entries.length)} entries`;
  return `${count(entries.length, "entry", "entries")}${searched < 1 ? " so far" : ""}`;
}

/** A long record takes its time: nobody must take for all what is not. */
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
      <p>Every grant and release leaves an entry here, as does whatever ends a lock. For example:</p>
      <Command>holdfast run project:alpha -- make</Command>
    </Empty>
  );
}
