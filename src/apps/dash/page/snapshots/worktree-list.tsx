/** The list of worktrees, each with the snapshot that it stands on. */
import type { SnapshotsView } from "../../views.js";
import { Key } from "../parts/key.js";

export function WorktreeList({ worktrees }: Pick<SnapshotsView, "worktrees">) {
  return (
    <section aria-label="Worktrees">
      <h3 class="part-title">Worktrees</h3>
      <ul class="worktrees">
        {worktrees.map((tree) => (
          <li key={tree.worktree_id}>
            <h4>
              <Key>{tree.worktree_id}</Key>
            </h4>
            <p class="quiet">
              <Key>{tree.path}</Key>
            </p>
            <p>
              {tree.head === null ? (
                "no snapshot yet"
              ) : (
                <>
                  stands on <Key>{tree.head}</Key>
                </>
              )}
              {tree.restored_from !== null && (
                <>
                  , restored from <Key>{tree.restored_from}</Key>
                </>
              )}
            </p>
            {tree.warnings.map((warning) => (
              <p key={warning} class="warning">
                {warning}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}
