/** The table of snapshots, newest first. */

import { number, size } from "../../../../base/count-text.js";
import type { SnapshotsView } from "../../views.js";
import { Badge } from "../parts/badge.js";
import { Key } from "../parts/key.js";
import { type Column, Table } from "../parts/table.js";
import { At } from "../parts/times.js";

type Snapshot = SnapshotsView["snapshots"][number];

export function History({ view }: { readonly view: SnapshotsView }) {
  return (
    <>
      <Table
        name="snapshots"
        caption="Snapshots, newest first"
        columns={columnsOf(view.worktrees)}
        rows={view.snapshots}
        idOf={(snapshot) => snapshot.snapshot_id}
        some="snapshots"
      />
      {view.total > view.snapshots.length && (
        <p class="more quiet">
          The newest {number(view.snapshots.length)} of {number(view.total)}. The rest: <code>holdfast history</code>
        </p>
      )}
    </>
  );
}

function columnsOf(worktrees: SnapshotsView["worktrees"]): readonly Column<Snapshot>[] {
  return [
    {
      title: "Snapshot",
      isName: true,
      cell: (snapshot) => (
        <>
          <Key>{snapshot.snapshot_id}</Key>
          <div class="narrow under-key">
            <At at={snapshot.created_at} /> <Key>{snapshot.worktree_id}</Key>
          </div>
        </>
      ),
    },
    { title: "Taken", classes: "wide nowrap", cell: (snapshot) => <At at={snapshot.created_at} /> },
    { title: "Note", cell: (snapshot) => <Note snapshot={snapshot} worktrees={worktrees} /> },
    { title: "Worktree", classes: "wide", cell: (snapshot) => <Key>{snapshot.worktree_id}</Key> },
    { title: "Size", classes: "right nowrap", cell: (snapshot) => size(snapshot.bytes) },
    { title: "Entries", classes: "wider right", cell: (snapshot) => number(snapshot.entries) },
    { title: "Parent", classes: "wider", cell: (snapshot) => <Key>{snapshot.parent_id ?? "none"}</Key> },
  ];
}

function Note({ snapshot, worktrees }: { readonly snapshot: Snapshot } & Pick<SnapshotsView, "worktrees">) {
  const heads = worktrees.filter(({ head }) => head === snapshot.snapshot_id);
  const tags = snapshot.tags.filter((tag) => tag !== "rescue");
  return (
    <div class="note">
      {snapshot.note}
      {heads.map(({ worktree_id: name }) => (
        <Badge key={name} text={`${name} stands here`} tone="good" />
      ))}
      {snapshot.kind === "rescue" && <Badge text="rescue" />}
      {tags.map((tag) => (
        <Badge key={tag} text={`#${tag}`} />
      ))}
      {snapshot.warnings.map((warning) => (
        <Badge key={warning} text={warning} tone="warn" />
      ))}
    </div>
  );
}
