/** The view of waits: the waiters and the holders that they wait for, as trees. */
import { useMemo } from "preact/hooks";
import { count, number } from "../../../../base/count-text.js";
import type { WaitsView } from "../../views.js";
import { useLive } from "../live.js";
import { ShowMore, useLimit } from "../parts/controls/show-more.js";
import { Command, Empty } from "../parts/messages.js";
import { View } from "../parts/view.js";
import { cutForest, forestOf } from "./forest.js";
import { HolderItem, WaiterItem } from "./forest-items.js";

export function Waits() {
  const live = useLive<WaitsView>("/api/waits");
  return (
    <View title="Waits" live={live} summary={summaryOf}>
      {(view) => (view.waiters.length === 0 ? <NoWaiters /> : <ForestList view={view} />)}
    </View>
  );
}

function ForestList({ view }: { readonly view: WaitsView }) {
  const { limit, more } = useLimit();
  const forest = useMemo(() => forestOf(view), [view]);
  const shown = useMemo(() => cutForest(forest, limit), [forest, limit]);
  return (
    <>
      {view.circles.map((circle) => (
        <p key={circle} role="alert">
          <b>Circle:</b> {circle}
        </p>
      ))}
      <ul class="forest" aria-label="Holders, and below each of them who waits for it">
        {shown.roots.map((node) => (
          <HolderItem key={node.holder.lock_id} node={node} isRoot />
        ))}
        {shown.free.map((node) => (
          <WaiterItem key={node.waiter.ticket_id} node={node} isFree />
        ))}
      </ul>
      <ShowMore hidden={view.holders.length + view.waiters.length - limit} onMore={more} what="holders and waiters" />
    </>
  );
}

function summaryOf(view: WaitsView): string {
  if (view.waiters.length === 0) return "no request waits";
  const waiters = view.is_all
    ? count(view.waiters.length, "request")
    : `more than ${number(view.waiters.length)} requests`;
  return `${waiters} in line, held up by ${count(view.holders.length, "lock")}`;
}

function NoWaiters() {
  return (
    <Empty title="No request waits.">
      <p>A request for a lock that is not free joins the queue, for as long as --wait says:</p>
      <Command>holdfast run project:alpha --wait 5m -- make</Command>
    </Empty>
  );
}
