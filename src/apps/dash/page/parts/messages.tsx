/** The messages of a view that has nothing to show, is still loading, or was refused. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Refused } from "../fetch.js";
import type { Live } from "../live.js";

const SOON_MS = 400;

/** `children` say what to type to get started. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A command to type. */
export function Command({ children }: { readonly children: string }) {
  return <code class="command">{children}</code>;
}

export function Refusal(props: {
  readonly refusal: Refused;
  /** Below it stands what was answered before. */
  readonly isOld?: boolean;
}) {
  const { refusal, isOld = false } = props;
  return (
    <div class="refusal" role="alert">
      <p>
        <strong>{refusal.message}</strong> <span class="quiet">({refusal.code})</span>
      </p>
      {refusal.next.length > 0 && (
        <ul>
          {refusal.next.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ul>
      )}
      {isOld && <p class="quiet">What is shown below is what there was before.</p>}
    </div>
  );
}

/** Said only when it takes longer than one notices. */
function Loading() {
  const [isLong, setLong] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLong(true), SOON_MS);
    return () => clearTimeout(timer);
  }, []);
  return <p class="loading">{isLong ? "Looking…" : ""}</p>;
}

/** What was answered, and a refusal above it. */
export function Answer<T>(props: { readonly live: Live<T>; readonly children: (data: T) => ComponentChildren }) {
  const { live, children } = props;
  return (
    <div class={live.isCurrent || live.data === null ? "answer" : "answer answer-old"} aria-busy={!live.isCurrent}>
      {live.refusal !== null && <Refusal refusal={live.refusal} isOld={live.data !== null} />}
      {live.data !== null ? children(live.data) : live.refusal === null && <Loading />}
    </div>
  );
}
