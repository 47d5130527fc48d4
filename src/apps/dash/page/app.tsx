/** The frame of the page: header, tabs, and the view that the address names. */
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { AboutView } from "../views.js";
import { Announcer } from "./announce.js";
import { Audit } from "./audit/audit.js";
import { Board } from "./board.js";
import { useCell } from "./cell.js";
import { connection } from "./fetch.js";
import { Header, nameOf } from "./header.js";
import { Jobs } from "./jobs/jobs.js";
import { Locks } from "./locks/locks.js";
import { VIEW_TITLE } from "./parts/heading.js";
import { Refusal } from "./parts/messages.js";
import { hrefOf, useRoute } from "./route.js";
import { Snapshots } from "./snapshots/snapshots.js";
import { Timeline } from "./timeline/timeline.js";
import { useAbout } from "./use-about.js";
import { Waits } from "./waits/waits.js";

interface Tab {
  readonly view: string;
  readonly title: string;
  readonly isThere?: (has: AboutView["has"]) => boolean;
  readonly View: ComponentType<{ readonly about: AboutView }>;
}

const TABS: readonly [Tab, ...Tab[]] = [
  { view: "locks", title: "Locks", View: Locks },
  { view: "waits", title: "Waits", View: Waits },
  { view: "timeline", title: "Timeline", View: Timeline },
  { view: "audit", title: "Audit", View: Audit },
  { view: "jobs", title: "Jobs", isThere: (has) => has.jobs, View: Jobs },
  { view: "board", title: "Board", isThere: (has) => has.board, View: Board },
  { view: "snapshots", title: "Snapshots", isThere: (has) => has.snapshots, View: Snapshots },
];

export function App() {
  const { about, refusal } = useAbout();
  const { view } = useRoute();
  const { isOver } = useCell(connection);
  const tabs = TABS.filter(({ isThere }) => about === null || isThere === undefined || isThere(about.has));
  const tab = tabs.find((each) => each.view === view) ?? TABS[0];
  useTitle(about, tab.title);
  useFocusOnChange(tab.view);

  return (
    <>
      <SkipLink />
      <Header about={about} />
      <nav class="tabs" aria-label="Views">
        <ul>
          {about !== null &&
            tabs.map(({ view: each, title }) => (
              <li key={each}>
                <a href={hrefOf(each)} aria-current={each === tab.view ? "page" : undefined}>
                  {title}
                </a>
              </li>
            ))}
        </ul>
      </nav>
      <main id="main" tabIndex={-1}>
        {isOver && <SessionOver />}
        {refusal !== null && !isOver && <Refusal refusal={refusal} />}
        {about !== null && <tab.View key={tab.view} about={about} />}
      </main>
      <Announcer />
    </>
  );
}

function SessionOver() {
  return (
    <div class="refusal" role="alert">
      <p>
        <strong>This page's session is over.</strong> Open the link that <code>holdfast dash</code> printed, or run it
        again.
      </p>
    </div>
  );
}

/** No link: what is behind the # of the address names a view. */
function SkipLink() {
  const skip = (): void => document.getElementById("main")?.focus();
  return (
    <button type="button" class="skip" onClick={skip}>
      Skip to the content
    </button>
  );
}

function useTitle(about: AboutView | null, title: string): void {
  const name = about === null ? "" : `${nameOf(about)} · `;
  useEffect(() => {
    document.title = about === null ? "Holdfast" : `${title} · ${name}Holdfast`;
  }, [about, title, name]);
}

/** Whoever goes to another view is told where they are; whoever loads the page is left where they begin. */
function useFocusOnChange(view: string): void {
  const before = useRef(view);
  useEffect(() => {
    if (before.current === view) return;
    before.current = view;
    window.scrollTo(0, 0);
    document.getElementById(VIEW_TITLE)?.focus({ preventScroll: true });
  }, [view]);
}
