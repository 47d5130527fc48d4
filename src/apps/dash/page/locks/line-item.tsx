/** One waiter in the queue of a key, and the holders that it waits for. */

import type { LockView } from "../../views.js";
import { Key } from "../parts/key.js";
import { Since } from "../parts/times.js";
import { Wants } from "../parts/wants.js";
import { someOf } from "../words.js";

type Waiter = LockView["line"][number];

export function LineItem({ waiter, resource }: { readonly waiter: Waiter; readonly resource: string }) {
  return (
    <li value={waiter.position}>
      <b>
        <Key>{waiter.owner}</Key>
      </b>{" "}
      wants <Wants wants={waiter.wants} it={resource} />, waiting <Since at={waiter.waiting_since} />
      <div class="quiet">{reasonText(waiter)}</div>
    </li>
  );
}

function reasonText({ waits_for: reasons }: Waiter): string {
  const holders = reasons.filter(({ kind }) => kind === "holder").map(({ owner }) => owner);
  const ahead = reasons.filter(({ kind }) => kind === "waiter").map(({ owner }) => owner);
  const parts = [
    ...(holders.length === 0 ? [] : [`waits for ${someOf(holders)}`]),
    ...(ahead.length === 0 ? [] : [`behind ${someOf(ahead)}`]),
  ];
  return parts.length === 0 ? "nobody is in its way any more" : parts.join(", ");
}
