/** The timeline as a table, with the same content as the chart. */

import type { TimelineView } from "../../views.js";
import { Key } from "../parts/key.js";
import { type Column, Table } from "../parts/table.js";
import { At } from "../parts/times.js";
import { endText, lengthText } from "./hold-words.js";

type Hold = TimelineView["rows"][number]["spans"][number] & { readonly resource: string };

const COLUMNS: readonly Column<Hold>[] = [
  {
    title: "Key",
    isName: true,
    cell: (hold) => (
      <>
        <Key>{hold.resource}</Key>
        <div class="narrow under-key">
          {hold.mode} <Key>{hold.owner}</Key>
        </div>
      </>
    ),
  },
  { title: "Owner", classes: "wide", cell: (hold) => <Key>{hold.owner}</Key> },
  { title: "Mode", classes: "wide", cell: (hold) => hold.mode },
  { title: "From", classes: "nowrap", cell: (hold) => <At at={hold.from} /> },
  { title: "To", classes: "wider nowrap", cell: (hold) => (hold.to === null ? "" : <At at={hold.to} />) },
  { title: "For", classes: "right nowrap", cell: lengthText },
  { title: "Ended", cell: endText },
  { title: "Fence", classes: "wider right", cell: (hold) => hold.fencing_token ?? "" },
];

export function HoldTable({ view }: { readonly view: TimelineView }) {
  return (
    <Table
      name="holds"
      caption="Holds, by key"
      columns={COLUMNS}
      rows={view.rows.flatMap(({ resource, spans }) => spans.map((hold) => ({ ...hold, resource })))}
      idOf={(hold) => `${hold.resource} ${hold.lock_id} ${hold.from}`}
      some="holds"
    />
  );
}
