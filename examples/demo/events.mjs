/**
 * Events of the fight, for the live views. The verdict uses none of them: it reads the files.
 *
 * Each event has a `kind` and the `name` of a worker. A worker sends over its channel:
 *
 *   waiting       file
 *   holding       file, isSlow
 *   acknowledged  file
 *   refused       file, code, wouldErase (updates that its write would have erased)
 *
 * The supervisor and the audit chain add:
 *
 *   started       pid
 *   killed, stopped, resumed   holding (the file it held at that moment, or null)
 *   takeover      from, file, isDead, ms
 *   ended
 *   crashed       why (a worker ended although it was not killed: a bug, and the demo has failed)
 *
 * A view has `note(event)` and `close()`, which gives the terminal back; a second `close()` does nothing.
 */

/** The event as a sentence, or null for everyday work. */
export function tellStory(event) {
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

function doing(holding) {
  return holding === null ? "held nothing" : `held ${holding}`;
}

function newer(count) {
  return `${count} newer ${count === 1 ? "update" : "updates"}`;
}
