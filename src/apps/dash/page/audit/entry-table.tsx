/** A table of audit entries, newest first; each row opens to all fields of its entry. */

import type { ComponentChildren } from "preact";
import type { AuditView } from "../../views.js";
import { Badge, type Tone } from "../parts/badge.js";
import { type Fact, Facts, Json } from "../parts/facts.js";
import { Key } from "../parts/key.js";
import { type Column, Table } from "../parts/table.js";
import { At } from "../parts/times.js";
import { longPlace, whyOf } from "../words.js";

type Entry = AuditView["entries"][number];

const TONES: Readonly<Record<string, Tone>> = {
  refused: "warn",
  recovered: "warn",
  stolen: "warn",
  broken: "bad",
  publish_undone: "warn",
  chain_repaired: "bad",
  damaged: "bad",
};

const COLUMNS: readonly Column<Entry>[] = [
  { title: "At", classes: "nowrap", opener: (entry) => (isDamaged(entry) ? "unknown" : <At at={entry.at} />) },
  {
    title: "Event",
    cell: ({ event }) => <Badge text={event.replaceAll("_", " ")} tone={TONES[event] ?? "plain"} />,
  },
  {
    title: "Key",
    isName: true,
    cell: (entry) => (
      <>
        <Key>{entry.resource}</Key>
        <div class="narrow under-key">
          <Key>{entry.owner}</Key>
          <div>{why(entry)}</div>
        </div>
      </>
    ),
  },
  { title: "Owner", classes: "wide", cell: (entry) => <Key>{entry.owner}</Key> },
  { title: "Why", classes: "wide about", cell: why },
  { title: "Fence", classes: "wider right", cell: (entry) => entry.fencing_token ?? "" },
];

export function EntryTable(props: {
  readonly entries: readonly Entry[];
  readonly caption: string;
  /** Beside the details of a lock: without the columns that repeat them. */
  readonly isShort?: boolean;
  readonly list?: string;
  readonly empty?: ComponentChildren;
}) {
  const { entries, caption, isShort = false, list = "", empty } = props;
  return (
    <Table
      name={isShort ? "grid-short entries" : "entries"}
      caption={caption}
      columns={COLUMNS}
      rows={entries}
      idOf={(entry) => entry.hash}
      list={list}
      details={(entry) => <Facts facts={factsOf(entry)} />}
      empty={empty}
    />
  );
}

function isDamaged({ event }: Entry): boolean {
  return event === "damaged";
}

function why({ event, details }: Entry): string {
  return whyOf(event, details);
}

function factsOf(entry: Entry): (Fact | null)[] {
  if (isDamaged(entry))
    return [
      ["number", `${entry.seq} of its chain`],
      ["details", <Json value={entry.details} />],
    ];
  return [
    ["number", `${entry.seq} of its chain`],
    ["at", entry.at],
    ["by", longPlace(entry.holder_id)],
    entry.lock_id === null ? null : ["lock id", <Key>{entry.lock_id}</Key>],
    entry.fencing_token === null ? null : ["fence", entry.fencing_token],
    ["details", <Json value={entry.details} />],
    ["hash", <span class="key hash">{entry.hash}</span>],
    ["hash before", <span class="key hash">{entry.prev_hash}</span>],
  ];
}
