/** The view of locks: the keys that are held, and how long each lease still lasts. */

import type { AboutView, LockSort, LocksView, LockRow as Row } from "../../views.js";
import { useSearchResult } from "../announce.js";
import { useLive } from "../live.js";
import { Pager } from "../parts/controls/pager.js";
import { SearchField } from "../parts/controls/search-field.js";
import { SelectField } from "../parts/controls/select-field.js";
import { useOpenRows } from "../parts/controls/use-open-rows.js";
import { ViewHeading } from "../parts/heading.js";
import { Heads } from "../parts/heads.js";
import { Answer, Command, Empty } from "../parts/messages.js";
import { pushParams, queryOf, replaceParams, useRoute } from "../route.js";
import { count, number } from "../words.js";
import { LockRow } from "./lock-row.js";

const SORTS: readonly { readonly value: LockSort; readonly text: string }[] = [
  { value: "key", text: "key" },
  { value: "expires", text: "expires first" },
  { value: "waiting", text: "most waited for" },
];

const NONE: readonly Row[] = [];

export function Locks({ about }: { readonly about: AboutView }) {
  const { params } = useRoute();
  const text = params.get("text") ?? "";
  const sort = SORTS.find(({ value }) => value === params.get("sort"))?.value ?? "key";
  const page = Math.max(1, Math.floor(Number(params.get("page"))) || 1);
  const path = `/api/locks?${queryOf({ text, sort, page })}`;
  const live = useLive<LocksView>(path);
  const { data } = live;
  const { rows, isOpen, toggle } = useOpenRows(live.asked, data?.locks ?? NONE, (lock) => lock.lock_id);
  useSearchResult(text, data === null || !live.isCurrent ? null : foundText(data, text));

  return (
    <>
      <ViewHeading title="Locks">{data === null ? "" : summaryOf(data, text)}</ViewHeading>
      <search class="tools">
        <SearchField
          label="Search"
          hint="key, owner or holder"
          value={text}
          isWide
          onSearch={(next) => replaceParams({ text: next, page: null })}
        />
        <SelectField
          label="Sort by"
          value={sort}
          choices={SORTS}
          onChoose={(next) => pushParams({ sort: next === "key" ? null : next, page: null })}
        />
      </search>
      <Answer live={live}>
        {(view) =>
          rows.length === 0 ? (
            <NoLocks text={text} />
          ) : (
            <>
              <table class="grid locks">
                <caption class="unseen">
                  Locks that are held, sorted by {SORTS.find(({ value }) => value === sort)?.text}
                </caption>
                <Heads
                  columns={[
                    ["Key"],
                    ["Mode", "wide"],
                    ["Owner", "wide"],
                    ["Holder", "wider"],
                    ["Held for", "wider right"],
                    ["Lease left", "right"],
                    ["Fence", "wider right"],
                    ["Waiting", "right"],
                  ]}
                />
                <tbody>
                  {rows.map(({ id, row, isGone }) => (
                    <LockRow
                      key={id}
                      lock={row}
                      isGone={isGone}
                      isOpen={isOpen(id)}
                      onToggle={() => toggle(id)}
                      about={about}
                    />
                  ))}
                </tbody>
              </table>
              <Pager page={view.page} pages={view.pages} />
            </>
          )
        }
      </Answer>
    </>
  );
}

function summaryOf(view: LocksView, text: string): string {
  const held = `${view.is_all ? number(view.read - view.expired) : `more than ${number(view.read - view.expired)}`} held`;
  const expired = view.expired === 0 ? "" : `, ${number(view.expired)} expired`;
  const line = view.waiting === 0 ? "nobody in line" : `${number(view.waiting)} in line`;
  const of = text === "" ? "" : `${number(view.matching)} found of `;
  const cut = view.is_all ? "" : `; only the first ${number(view.read)} were read`;
  return `${of}${held}${expired}, ${line}${cut}`;
}

function foundText(view: LocksView, text: string): string {
  return text === "" ? count(view.matching, "lock") : `${count(view.matching, "lock")} found`;
}

function NoLocks({ text }: { readonly text: string }) {
  if (text !== "")
    return (
      <Empty title={`No lock matches “${text}”.`}>
        <p>What is typed is looked for in keys, owners and holders.</p>
      </Empty>
    );
  return (
    <Empty title="Nothing is held.">
      <p>Hold a lock while a command runs:</p>
      <Command>holdfast run project:alpha -- make</Command>
      <p>or until it is released or its lease is over:</p>
      <Command>holdfast lock acquire project:alpha --ttl 30m</Command>
    </Empty>
  );
}
