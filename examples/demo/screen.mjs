/** The live view on a terminal: the whole picture, redrawn in place ten times a second on the alternate screen. */
import { drawTable } from "./table.mjs";
import { fitted, seconds, styled, wrap } from "./text.mjs";

const EVERY_MS = 100;
const ENTER = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE = "\x1b[?25h\x1b[?1049l";
const HOME = "\x1b[H";
const CLEAR_LINE = "\x1b[K";
const CLEAR_BELOW = "\x1b[J";
const TIME_WIDTH = 7;
const LEAST_STORY = 6;

const ABOUT =
  "Each locks a file, reads it, thinks, and writes it back whole. Some get killed. Some are frozen until their " +
  "lease is over: on waking they would overwrite what others wrote meanwhile. That write is refused.";

const STORY_STYLES = {
  killed: "red",
  crashed: ["bold", "red"],
  stopped: "yellow",
  resumed: "yellow",
  takeover: "cyan",
  refused: ["bold", "magenta"],
};

export function openScreen(board, out = process.stdout) {
  out.write(ENTER);
  const paint = () => {
    const picture = draw(board, out.columns || 80, out.rows || 24);
    out.write(`${HOME}${picture.map((line) => `${line}${CLEAR_LINE}`).join("\n")}${CLEAR_BELOW}`);
  };
  const timer = setInterval(paint, EVERY_MS);
  out.on("resize", paint);
  paint();
  let isOpen = true;
  return {
    note: (event) => void board.note(event),
    close() {
      if (!isOpen) return;
      isOpen = false;
      clearInterval(timer);
      out.off("resize", paint);
      out.write(LEAVE);
    },
  };
}

/** At most `height` lines of at most `width` characters. The story gets what room the rest leaves, and some in any case. */
export function draw(board, width, height) {
  const table = ["", ...drawTable(board, width), ""];
  const totals = ["", ...wrap(board.summary, width - 2).map((line) => styled("bold", ` ${line}`))];
  const about = wrap(ABOUT, width - 2).map((line) => styled("dim", ` ${line}`));
  const room = Math.max(0, height - 1 - table.length - totals.length);
  const shown = room - about.length >= LEAST_STORY ? about : [];
  const story = drawStory(board.story, width, room - shown.length);
  const filler = Array.from({ length: room - shown.length - story.length }, () => "");
  return [title(board, width), ...shown, ...table, ...story, ...filler, ...totals].slice(0, height);
}

function title(board, width) {
  const left = ` Holdfast: ${board.rows.size} processes, 2 shared files`;
  const clock = clockOf(board);
  const room = width - clock.length - 2;
  return room < 12 ? styled("bold", fitted(left, width)) : `${styled("bold", fitted(left, room))} ${clock}`;
}

function clockOf({ hasBegun, elapsedMs, totalMs }) {
  if (!hasBegun) return "starting";
  return elapsedMs > totalMs ? "finishing" : `${seconds(elapsedMs)} of ${totalMs / 1_000}s`;
}

/** The latest of it, whole sentences only. */
function drawStory(story, width, room) {
  let lines = [];
  for (const line of story.toReversed()) {
    const more = [...drawStoryLine(line, width), ...lines];
    if (more.length > room) break;
    lines = more;
  }
  return lines;
}

function drawStoryLine({ atMs, kind, text }, width) {
  const lines = wrap(text, width - TIME_WIDTH - 1);
  return lines.map((line, at) => {
    const time = at === 0 ? seconds(atMs).padStart(TIME_WIDTH - 1) : "".padEnd(TIME_WIDTH - 1);
    return `${styled("dim", time)} ${styled(STORY_STYLES[kind] ?? "reset", line)}`;
  });
}
