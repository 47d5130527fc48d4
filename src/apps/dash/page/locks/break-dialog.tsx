/** The dialog before a lock is broken. The holder may be at work, so the dialog names it and requires a written reason. */

import { useId, useRef, useState } from "preact/hooks";
import { count } from "../../../../base/count-text.js";
import type { LockView } from "../../views.js";
import { Said } from "../parts/action-result.js";
import { Dialog } from "../parts/controls/dialog.js";
import type { Action } from "../parts/controls/use-action.js";
import { Key } from "../parts/key.js";
import { Lease } from "../parts/times.js";
import { longPlace } from "../words.js";

export function BreakDialog(props: {
  readonly view: LockView;
  readonly owner: string;
  readonly action: Action;
  readonly onClose: () => void;
}) {
  const { view, owner, action, onClose } = props;
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [reason, setReason] = useState("");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (reason.trim() === "") field.current?.focus();
    else if (await action.run("break", { key: view.resource, reason: reason.trim() })) onClose();
  };
  return (
    <Dialog title="Break a lock that still looks alive" onClose={onClose}>
      <form onSubmit={submit}>
        <p>
          This ends the lock{" "}
          <b>
            <Key>{view.resource}</Key>
          </b>{" "}
          at once, although its holder may be at work:
        </p>
        <Holders view={view} />
        <p>
          The fence is raised, so the ousted holder can commit nothing more. What it has begun is left as it is.{" "}
          {view.line.length === 0
            ? "Nobody waits for it."
            : `${count(view.line.length, "request")} in line; ${view.line[0]?.owner} is first.`}{" "}
          The break goes on record under{" "}
          <b>
            <Key>{owner}</Key>
          </b>
          , with your reason.
        </p>
        <div class="field field-wide">
          <label for={id}>Why</label>
          <textarea
            id={id}
            ref={field}
            rows={2}
            required
            value={reason}
            placeholder="its machine is gone for good"
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </div>
        {action.said?.isRefusal === true && <Said said={action.said} />}
        <div class="dialog-end">
          <button type="button" onClick={onClose}>
            Leave it
          </button>
          <button type="submit" class="danger-full">
            Break the lock
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function Holders({ view }: { readonly view: LockView }) {
  const hit = view.holders.filter(({ relation }) => relation === "here");
  if (hit.length === 0) return <p class="said said-refused">Nobody holds this very key any more.</p>;
  return (
    <ul class="hit">
      {hit.map((holder) => (
        <li key={holder.lock_id}>
          <b>
            <Key>{holder.owner}</Key>
          </b>{" "}
          ({holder.mode}) on {longPlace(holder.holder_id)};{" "}
          <Lease expiresAt={holder.lease_expires_at} durationS={holder.lease_duration_s} />
        </li>
      ))}
    </ul>
  );
}
