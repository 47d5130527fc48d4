/** The actions on a lock, where the page was started with actions. */
import { useState } from "preact/hooks";
import type { LockView } from "../../views.js";
import { Said } from "../parts/action-result.js";
import { useAction } from "../parts/controls/use-action.js";
import { BreakDialog } from "./break-dialog.js";

export function LockActions(props: {
  readonly resource: string;
  readonly view: LockView | null;
  readonly owner: string;
}) {
  const { resource, view, owner } = props;
  const [isAsking, setAsking] = useState(false);
  const action = useAction();
  return (
    <div class="actions">
      <button type="button" onClick={() => action.run("recover", { key: resource })}>
        Recover
      </button>
      <button type="button" class="danger" disabled={view === null} onClick={() => setAsking(true)}>
        Break…
      </button>
      <span class="quiet">
        Recover ends what is held on this key and below it, if its lease is over or its process is proven dead.
      </span>
      <Said said={action.said} />
      {isAsking && view !== null && (
        <BreakDialog view={view} owner={owner} action={action} onClose={() => setAsking(false)} />
      )}
    </div>
  );
}
