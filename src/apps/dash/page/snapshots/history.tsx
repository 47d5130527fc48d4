/** The table of snapshots, newest first. */

import type { SnapshotsView } from "../../views.js";
import { Badge } from "../parts/badge.js";
import { ShowMore, useLimit } from "../parts/controls/show-more.js";
import { Heads } from "../parts/heads.js";
import { Key } from "../parts/key.js";
import { At } from "../parts/times.js";
import { number, size } from "../words.js";

type Snapshot = SnapshotsView["snapshots"][number];

export function History({ view }: { readonly view: SnapshotsView }) {
  const { limit, more } = useLimit();
  const heads = new Map<string, string[]>();
  for (const { head, worktree_id: name } of view.worktrees)
    if (head !== null) heads.set(head, [...(heads.get(head) ?? []), name]);
  return (
    <>
      <table class="grid snapshots">
        <caption class="unseen">Snapshots, newest first</caption>
        <Heads
          columns={[
            ["Snapshot"],
            ["Taken", "wide"],
            ["Note"],
            ["Worktree", "wide"],
            ["Size", "right"],
            ["Entries", "wider right"],
            ["Parent", "wider"],
          ]}
        />
        <tbody>
          {view.snapshots.slice(0, limit).map((each) => (
            <SnapshotRow key={each.snapshot_id} snapshot={each} heads={heads.get(each.snapshot_id) ?? []} />
          ))}
        </tbody>
      </table>
      <ShowMore hidden={view.snapshots.length - limit} onMore={more} what="snapshots" />
      {view.total > view.snapshots.length && (
        <p class="more quiet">
          The newest {number(view.snapshots.length)} of {number(view.total)}. The rest: <code>holdfast history</code>
        </p>
      )}
    </>
  );
}

function SnapshotRow({ snapshot, heads }: { readonly snapshot: Snapshot; readonly heads: readonly string[] }) {
  const tags = snapshot.tags.filter((tag) => tag !== "rescue");
  return (
    <tr class="row">
      <th scope="row">
        <Key>{snapshot.snapshot_id}</Key>
        <div class="narrow under-key">
          <At at={snapshot.created_at} /> <Key>{snapshot.worktree_id}</Key>
        </div>
      </th>
      <td class="wide nowrap">
        <At at={snapshot.created_at} />
      </td>
      <td>
        <div class="note">
          {snapshot.note}

          {heads.map((name) => (
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
      </td>
      <td class="wide">
        <Key>{snapshot.worktree_id}</Key>
      </td>
      <td class="right nowrap">{size(snapshot.bytes)}</td>
      <td class="wider right">{number(snapshot.entries)}</td>
      <td class="wider">
        <Key>{snapshot.parent_id ?? "none"}</Key>
      </td>
    </tr>
  );
}
