/** The items of the trees of waiters: nested lists that a screen reader also reads well. */

import { count } from "../../../../base/count-text.js";
import { Key } from "../parts/key.js";
import { Lease, Since } from "../parts/times.js";
import { Wants } from "../parts/wants.js";
import { longPlace, someOf } from "../words.js";
import type { HolderNode, WaiterNode } from "./forest.js";

export function HolderItem({ node, isRoot = false }: { readonly node: HolderNode; readonly isRoot?: boolean }) {
  const { holder, waiters, elsewhere } = node;
  return (
    <li class={isRoot ? "root" : "inner"}>
      <div class="holder">
        {isRoot ? (
          <b>
            <Key>{holder.owner}</Key>
          </b>
        ) : (
          "It"
        )}{" "}
        holds{" "}
        <b>
          <Key>{holder.resource}</Key>
        </b>{" "}
        <span class="quiet">({holder.mode})</span>{" "}
        <span class="beside">
          <Lease expiresAt={holder.lease_expires_at} durationS={holder.lease_duration_s} />{" "}
          {isRoot && <span class="wide">{longPlace(holder.holder_id)}</span>}
        </span>
      </div>
      {(waiters.length > 0 || elsewhere.length > 0) && (
        <ul>
          {waiters.map((child) => (
            <WaiterItem key={child.waiter.ticket_id} node={child} held={holder.resource} />
          ))}
          {elsewhere.length > 0 && (
            <li class="inner quiet">
              {waiters.length > 0 ? "Also waited for" : "Waited for"} by {count(elsewhere.length, "request")} shown
              below another holder: {someOf(elsewhere.map(({ owner }) => owner))}
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

export function WaiterItem(props: {
  readonly node: WaiterNode;
  /** What the holder above it holds. */
  readonly held?: string;
  readonly isFree?: boolean;
}) {
  const { node, held, isFree = false } = props;
  const { waiter, also, behind, holds, holdsAbove } = node;
  return (
    <li class={isFree ? "root" : "inner"}>
      <div class="waiter">
        <b>
          <Key>{waiter.owner}</Key>
        </b>{" "}
        {isFree ? "is about to get" : "waits for"} <Wants wants={waiter.wants} it={held} />{" "}
        <span class="beside">
          for <Since at={waiter.waiting_since} />
        </span>
        {also.length > 0 && <div class="quiet">{alsoText(also)}</div>}
        {holdsAbove.length > 0 && (
          <div class="quiet">
            The same process holds {someOf(holdsAbove.map(({ resource }) => resource))}, which is waited for above.
          </div>
        )}
      </div>
      {(holds.length > 0 || behind.length > 0) && (
        <ul>
          {holds.map((child) => (
            <HolderItem key={child.holder.lock_id} node={child} />
          ))}
          {behind.map((child) => (
            <WaiterItem key={child.waiter.ticket_id} node={child} />
          ))}
        </ul>
      )}
    </li>
  );
}

function alsoText(also: WaiterNode["also"]): string {
  const holders = also.filter(({ kind }) => kind === "holder").map(({ owner, resource }) => `${owner} on ${resource}`);
  const ahead = also.filter(({ kind }) => kind === "waiter").map(({ owner }) => owner);
  return [
    ...(holders.length === 0 ? [] : [`Also held up by ${someOf(holders)}.`]),
    ...(ahead.length === 0 ? [] : [`In line behind ${someOf(ahead)}.`]),
  ].join(" ");
}
