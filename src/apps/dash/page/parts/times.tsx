/** Times and time spans that count on by themselves. */
import { serverNow, useTick } from "../clock.js";
import { clockTime, fullTime, leaseLeft, secondsSince, span } from "../time.js";

/** How long ago: `3 min`. */
export function Since({ at }: { readonly at: string }) {
  const text = useTick((now) => span(secondsSince(at, now)));
  return (
    <time dateTime={at} title={fullTime(at)}>
      {text}
    </time>
  );
}

/** When: `17:40:12`. */
export function At({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={fullTime(at)}>
      {clockTime(at, serverNow())}
    </time>
  );
}

/** How long the lease lasts still: in a table with a bar of the share that is left, else as part of a sentence. */
export function Lease(props: { readonly expiresAt: string; readonly durationS: number; readonly hasBar?: boolean }) {
  const { expiresAt, durationS, hasBar = false } = props;
  const text = useTick((now) => {
    const left = leaseLeft(expiresAt, durationS, now);
    return hasBar || left.isOver ? left.text : `${left.text} left`;
  });
  const percent = useTick((now) => Math.ceil(100 * leaseLeft(expiresAt, durationS, now).share));
  const isOver = percent === 0;
  return (
    <span class={isOver ? "lease lease-over" : percent < 15 ? "lease lease-short" : "lease"}>
      <span class="lease-text" title={`until ${fullTime(expiresAt)}`}>
        {text}
      </span>
      {hasBar && (
        <span class="meter" aria-hidden="true">
          <span class="meter-part" style={{ inlineSize: `${percent}%` }} />
        </span>
      )}
    </span>
  );
}
