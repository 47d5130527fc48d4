/** The view of locks: the keys that are held, and how long each lease still lasts. */

import { count, number } from "../../../../base/count-text.js";
import type { AboutView, LockSort, LocksView, LockRow as Row } from "../../views.js";
import { useLive } from "../live.js";
import { Badge } from "../parts/badge.js";
import { Pager } from "../parts/controls/pager.js";
import { SearchField } from "../parts/controls/search-field.js";
import { chosen, SelectField } from "../parts/controls/select-field.js";
import { Key } from "../parts/key.js";
import { Command, Empty } from "../parts/messages.js";
import { type Column, Table } from "../parts/table.js";
import { Lease, Since } from "../parts/times.js";
import { View } from "../parts/view.js";
import { queryOf, useRoute } from "../route.js";
import { longPlace, shortPlace } from "../words.js";
import { LockDetails } from "./lock-details.js";

interface Sort {
  readonly value: LockSort;
  readonly text: string;
}

const BY_KEY: Sort = { value: "key", text: "key" };
const SORTS: readonly Sort[] = [
  BY_KEY,
  { value: "expires", text: "expires first" },
  { value: "waiting", text: "most waited for" },
];

const COLUMNS: readonly Column<Row>[] = [
  {
    title: "Key",
    isName: true,
    opener: (lock) => <Key>{lock.resource}</Key>,
    cell: (lock) => (
      <div class="narrow under-key">
        {lock.mode} <Key>{lock.owner}</Key>
      </div>
    ),
  },
  { title: "Mode", classes: "wide", cell: (lock) => lock.mode },
  { title: "Owner", classes: "wide", cell: (lock) => <Key>{lock.owner}</Key> },
  {
    title: "Holder",
    classes: "wider",
    cell: (lock) => (
      <span title={longPlace(lock.holder_id)}>
        <Key>{shortPlace(lock.holder_id)}</Key>
      </span>
    ),
  },
  { title: "Held for", classes: "wider right", cell: (lock) => <Since at={lock.created_at} /> },
  {
    title: "Lease left",
    classes: "right lease-cell",
    cell: (lock, isGone) =>
      isGone ? (
        <Badge text="no longer held" />
      ) : (
        <Lease expiresAt={lock.lease_expires_at} durationS={lock.lease_duration_s} hasBar />
      ),
  },
  { title: "Fence", classes: "wider right", cell: (lock) => lock.fencing_token },
  {
    title: "Waiting",
    classes: "right",
    cell: (lock, isGone) =>
      isGone ? "" : <span class={lock.waiting === 0 ? "quiet" : "strong"}>{number(lock.waiting)}</span>,
  },
];

export function Locks({ about }: { readonly about: AboutView }) {
  const { params } = useRoute();
  const text = params.get("text") ?? "";
  const sort = chosen(params, "sort", SORTS) ?? BY_KEY;
  const page = Math.max(1, Math.floor(Number(params.get("page"))) || 1);
  const live = useLive<LocksView>(`/api/locks?${queryOf({ text, sort: sort.value, page })}`);
  return (
    <View
      title="Locks"
      live={live}
      summary={(view) => summaryOf(view, text)}
      search={{ what: text, result: (view) => foundText(view, text) }}
      filters={
        <>
          <SearchField label="Search" hint="key, owner or holder" param="text" isWide />
          <SelectField label="Sort by" param="sort" choices={SORTS} />
        </>
      }
    >
      {(view) => (
        <>
          <Table
            name="locks"
            caption={`Locks that are held, sorted by ${sort.text}`}
            columns={COLUMNS}
            rows={view.locks}
            idOf={(lock) => lock.lock_id}
            list={live.asked}
            details={(lock) => <LockDetails lock={lock} about={about} />}
            marksGone
            empty={<NoLocks text={text} />}
          />
          <Pager page={view.page} pages={view.pages} />
        </>
      )}
    </View>
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
