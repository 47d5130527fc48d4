/** The view of snapshots: the worktrees with their heads, and all snapshots. */

import { count } from "../../../../base/count-text.js";
import type { SnapshotsView } from "../../views.js";
import { useLive } from "../live.js";
import { SelectField } from "../parts/controls/select-field.js";
import { Command, Empty } from "../parts/messages.js";
import { Filters, View } from "../parts/view.js";
import { queryOf, useRoute } from "../route.js";
import { History } from "./history.js";
import { WorktreeList } from "./worktree-list.js";

export function Snapshots() {
  const { params } = useRoute();
  const worktree = params.get("worktree") ?? "";
  const live = useLive<SnapshotsView>(`/api/snapshots?${queryOf({ worktree })}`);
  const { data } = live;
  const names = [
    ...new Set([...(data?.worktrees ?? []).map((each) => each.worktree_id), ...(worktree === "" ? [] : [worktree])]),
  ];

  return (
    <View
      title="Snapshots"
      live={live}
      summary={(view) => `${count(view.total, "snapshot")}, ${count(view.worktrees.length, "worktree")}`}
    >
      {(view) =>
        view.worktrees.length === 0 && view.total === 0 ? (
          <NoWorktrees />
        ) : (
          <>
            {view.worktrees.length > 0 && <WorktreeList worktrees={view.worktrees} />}
            <Filters>
              <SelectField
                label="Snapshots of"
                param="worktree"
                choices={[{ value: "", text: "all worktrees" }, ...names.map((name) => ({ value: name, text: name }))]}
              />
            </Filters>
            {view.snapshots.length === 0 ? <NoSnapshots worktree={worktree || names[0]} /> : <History view={view} />}
          </>
        )
      }
    </View>
  );
}

function NoSnapshots({ worktree = "main" }: { readonly worktree?: string | undefined }) {
  return (
    <Empty title="There are no snapshots.">
      <p>Keep the state of a worktree:</p>
      <Command>{`holdfast snapshot ${worktree} -m "before the migration"`}</Command>
    </Empty>
  );
}

function NoWorktrees() {
  return (
    <Empty title="No folder is under snapshots.">
      <p>Put one under snapshots, and keep its state:</p>
      <Command>holdfast worktree add main</Command>
      <Command>holdfast snapshot main</Command>
    </Empty>
  );
}
