/** The details of one lock: its record, the grants around it, its queue, and its latest events. */

import { count } from "../../../../base/count-text.js";
import type { AboutView, LockRow, LockView } from "../../views.js";
import { EntryTable } from "../audit/entry-table.js";
import { useLive } from "../live.js";
import { ShowMore, useLimit } from "../parts/controls/show-more.js";
import { type Fact, Facts, Json } from "../parts/facts.js";
import { Key } from "../parts/key.js";
import { Answer } from "../parts/messages.js";
import { At, Lease, Since } from "../parts/times.js";
import { hrefOf, queryOf } from "../route.js";
import { longPlace } from "../words.js";
import { LineItem } from "./line-item.js";
import { LockActions } from "./lock-actions.js";

const SOME = 20;

export function LockDetails({ lock, about }: { readonly lock: LockRow; readonly about: AboutView }) {
  const live = useLive<LockView>(`/api/lock?${queryOf({ key: lock.resource })}`);
  return (
    <>
      <div class="details-parts">
        <section aria-label={`Record of ${lock.resource}`}>
          <h3>Record</h3>
          <Facts facts={factsOf(lock, live.data)} />
        </section>
        <Answer live={live}>
          {(view) => (
            <>
              <Neighbours lock={lock} view={view} />
              <Line view={view} />
            </>
          )}
        </Answer>
      </div>
      {live.data !== null && <Entries view={live.data} />}
      {about.allows_actions ? (
        <LockActions resource={lock.resource} view={live.data} owner={about.owner} />
      ) : (
        <p class="quiet">
          On the command line: <code>holdfast explain {lock.resource}</code>
        </p>
      )}
    </>
  );
}

function factsOf(lock: LockRow, view: LockView | null): (Fact | null)[] {
  const state = view === null ? lock.state : view.state;
  return [
    ["key", <Key>{lock.resource}</Key>],
    ["state", view === null ? state : `${state}, profile ${view.profile}`],
    ["owner", <Key>{lock.owner}</Key>],
    ["holder", longPlace(lock.holder_id)],
    [
      "since",
      <>
        <At at={lock.created_at} />, <Since at={lock.created_at} /> ago
      </>,
    ],
    ["renewed", <At at={lock.last_renewed_at} />],
    ["lease", `${lock.lease_duration_s} s each time`],
    [
      "fence",
      view === null || view.fencing_token === lock.fencing_token
        ? lock.fencing_token
        : `${lock.fencing_token}; the last one given here is ${view.fencing_token}`,
    ],
    ["lock id", <Key>{lock.lock_id}</Key>],
    Object.keys(lock.metadata).length === 0 ? null : ["metadata", <Json value={lock.metadata} />],
  ];
}

const RELATIONS = { here: "", above: "above it", below: "below it" } as const;

function Neighbours({ lock, view }: { readonly lock: LockRow; readonly view: LockView }) {
  const { limit, more } = useLimit(SOME);
  const others = view.holders.filter((holder) => holder.lock_id !== lock.lock_id);
  if (others.length === 0) return null;
  return (
    <section aria-label={`Held around ${lock.resource}`}>
      <h3>Held around it</h3>
      <ul class="plain-list">
        {others.slice(0, limit).map((holder) => (
          <li key={holder.lock_id}>
            <b>
              <Key>{holder.owner}</Key>
            </b>{" "}
            holds {holder.relation === "here" ? "it too" : <Key>{holder.resource}</Key>} {RELATIONS[holder.relation]} (
            {holder.mode}), <Lease expiresAt={holder.lease_expires_at} durationS={holder.lease_duration_s} />
          </li>
        ))}
      </ul>
      <ShowMore hidden={others.length - limit} onMore={more} what="holders" />
    </section>
  );
}

function Line({ view }: { readonly view: LockView }) {
  const { limit, more } = useLimit(SOME);
  return (
    <section aria-label={`Line for ${view.resource}`}>
      <h3>
        In line <span class="quiet">{view.line.length === 0 ? "" : count(view.line.length, "request")}</span>
      </h3>
      {view.line.length === 0 ? (
        <p class="quiet">Nobody waits for it.</p>
      ) : (
        <ol class="line">
          {view.line.slice(0, limit).map((waiter) => (
            <LineItem key={waiter.ticket_id} waiter={waiter} resource={view.resource} />
          ))}
        </ol>
      )}
      <ShowMore hidden={view.line.length - limit} onMore={more} what="in line" />
    </section>
  );
}

function Entries({ view }: { readonly view: LockView }) {
  return (
    <section aria-label={`Last entries around ${view.resource}`}>
      <h3>
        Last entries{" "}
        <a class="aside" href={hrefOf("audit", { resource: view.resource })}>
          all in the audit
        </a>
      </h3>
      {view.entries.length === 0 ? (
        <p class="quiet">Nothing is on record.</p>
      ) : (
        <EntryTable entries={view.entries} caption={`Last entries around ${view.resource}`} isShort />
      )}
    </section>
  );
}
