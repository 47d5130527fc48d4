/** The header of the page: the workspace, whether the page is live, and whether actions are allowed. */
import { useEffect, useRef } from "preact/hooks";
import type { AboutView } from "../views.js";
import { announce } from "./announce.js";
import { useCell } from "./cell.js";
import { useTick } from "./clock.js";
import { connection } from "./fetch.js";
import { span } from "./time.js";
import { folderName } from "./words.js";

/** An answer that takes longer is worth a word. */
const LATE_MS = 5_000;

export function Header({ about }: { readonly about: AboutView | null }) {
  return (
    <header class="page-head">
      <div class="page-name">
        <h1>
          <span class="brand">Holdfast</span> <span class="workspace">{about === null ? "" : nameOf(about)}</span>
        </h1>
        {about !== null && (
          <p class="place">
            {about.root !== null && <span title="the workspace">{about.root}</span>}
            <span title="the store">{about.store}</span>
            <span>version {about.version}</span>
          </p>
        )}
      </div>
      <div class="page-state">
        <LiveState />
        {about !== null && (
          <p class="rights">
            {about.allows_actions ? (
              <>
                actions allowed as <b>{about.owner}</b>
              </>
            ) : (
              <span title="Start holdfast dash with --allow-actions to allow actions.">read-only</span>
            )}
          </p>
        )}
      </div>
    </header>
  );
}

export function nameOf({ root, store }: AboutView): string {
  return folderName(root ?? store);
}

function LiveState() {
  const { isOver, isFailing, answeredAt, askedAt } = useCell(connection);
  const text = useTick(() => {
    if (isOver) return "session over";
    const isLate = askedAt !== null && Date.now() - askedAt > LATE_MS;
    if (!isFailing && !isLate) return answeredAt === null ? "connecting" : "live";
    return answeredAt === null ? "no answer" : `no answer for ${span((Date.now() - answeredAt) / 1_000)}`;
  });
  const state = text === "live" ? "live" : text === "connecting" ? "connecting" : "lost";
  const before = useRef(state);
  useEffect(() => {
    if (state === "lost" && before.current === "live") announce("No answer from holdfast dash. What is shown is old.");
    if (state === "live" && before.current === "lost") announce("Holdfast dash answers again.");
    before.current = state;
  }, [state]);
  return (
    <p class={`live live-${state}`}>
      <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
        {state === "live" ? <circle cx="5" cy="5" r="4" /> : <path d="M1.5 1.5l7 7M8.5 1.5l-7 7" />}
      </svg>
      {text}
    </p>
  );
}
