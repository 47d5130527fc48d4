/** What happens while the workers fight, as the live view hears of it. The verdict believes none of it: it reads the files. */

/** What a worker process says over its channel. */
export type WorkerMessage =
  | { readonly kind: "waiting"; readonly file: string }
  | { readonly kind: "holding"; readonly file: string; readonly isSlow: boolean }
  | { readonly kind: "acknowledged"; readonly file: string }
  | { readonly kind: "refused"; readonly file: string; readonly code: string; readonly wouldErase: number };

export type DemoEvent =
  | (WorkerMessage & { readonly name: string })
  | { readonly kind: "started"; readonly name: string; readonly pid: number }
  /** `holding`: the file it held at that moment, if any. */
  | { readonly kind: "killed" | "stopped" | "resumed"; readonly name: string; readonly holding: string | null }
  | {
      readonly kind: "takeover";
      readonly name: string;
      readonly from: string;
      readonly file: string;
      readonly isDead: boolean;
      readonly ms: number;
    }
  | { readonly kind: "ended"; readonly name: string }
  /** A worker ended though nobody killed it: a bug, and the demo has failed. */
  | { readonly kind: "crashed"; readonly name: string; readonly why: string };

/** Shows the fight while it goes on. */
export interface View {
  note(event: DemoEvent): void;
  /** Gives the terminal back. A second call does nothing. */
  close(): void;
}

/** The event as a sentence, or null for everyday work. */
export function tellStory(event: DemoEvent): string | null {
  const { name } = event;
  switch (event.kind) {
    case "killed":
      return `killed ${name} (SIGKILL) while it ${doing(event.holding)}`;
    case "stopped":
      return `froze ${name} (SIGSTOP) while it ${doing(event.holding)}`;
    case "resumed":
      return `woke ${name} (SIGCONT): ${event.holding === null ? "it goes on" : "it still means to write its old copy"}`;
    case "takeover":
      return `${name} took over ${event.file} from ${event.from}, ${event.ms} ms after its ${event.isDead ? "death" : "lease ran out"}`;
    case "refused":
      return `${name}'s old ${event.file} REFUSED (${event.code}): ${newer(event.wouldErase)} saved`;
    case "crashed":
      return `${name} ended by itself: ${event.why}`;
    default:
      return null;
  }
}

function doing(holding: string | null): string {
  return holding === null ? "held nothing" : `held ${holding}`;
}

function newer(count: number): string {
  return `${count} newer ${count === 1 ? "update" : "updates"}`;
}
