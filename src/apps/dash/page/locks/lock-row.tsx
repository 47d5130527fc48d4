/** The row of one lock in the table, and its details below. */

import type { AboutView, LockRow as Row } from "../../views.js";
import { Badge } from "../parts/badge.js";
import { Opener } from "../parts/controls/opener.js";
import { DetailsRow } from "../parts/details-row.js";
import { Key } from "../parts/key.js";
import { Lease, Since } from "../parts/times.js";
import { longPlace, number, shortPlace } from "../words.js";
import { LockDetails } from "./lock-details.js";

const COLUMNS = { narrow: 3, wide: 5, wider: 8 };

export function LockRow(props: {
  readonly lock: Row;
  readonly isGone: boolean;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly about: AboutView;
}) {
  const { lock, isGone, isOpen, onToggle, about } = props;
  const id = `lock-${lock.lock_id}`;
  return (
    <>
      <tr class={`row${isOpen ? " row-open" : ""}${isGone ? " row-gone" : ""}`}>
        <th scope="row">
          <Opener isOpen={isOpen} controls={id} onToggle={onToggle}>
            <Key>{lock.resource}</Key>
          </Opener>
          <div class="narrow under-key">
            {lock.mode} <Key>{lock.owner}</Key>
          </div>
        </th>
        <td class="wide">{lock.mode}</td>
        <td class="wide">
          <Key>{lock.owner}</Key>
        </td>
        <td class="wider" title={longPlace(lock.holder_id)}>
          <Key>{shortPlace(lock.holder_id)}</Key>
        </td>
        <td class="wider right">
          <Since at={lock.created_at} />
        </td>
        <td class="right lease-cell">
          {isGone ? (
            <Badge text="no longer held" />
          ) : (
            <Lease expiresAt={lock.lease_expires_at} durationS={lock.lease_duration_s} hasBar />
          )}
        </td>
        <td class="wider right">{lock.fencing_token}</td>
        <td class={lock.waiting === 0 || isGone ? "right quiet" : "right strong"}>
          {isGone ? "" : number(lock.waiting)}
        </td>
      </tr>
      {isOpen && (
        <DetailsRow id={id} columns={COLUMNS}>
          <LockDetails lock={lock} about={about} />
        </DetailsRow>
      )}
    </>
  );
}
