/**
 * Records the command that a run has started, on the second line of the run's proof of life. Some programs close the
 * descriptors that they inherit before they start others, so a run can have living processes of which none has its proof
 * open. This mark finds them: the command itself, by its pid and start time, and every process in the process group that
 * was made for it.
 *
 * The system reuses the number of a group only when the group is empty. A process of that pid with another start time
 * therefore means that the group of this command has gone, and so does another boot.
 */
import { readFileSync } from "node:fs";
import { isOtherBoot } from "../../base/boot.js";
import { isOtherStart, pidNamespace, thisMachine } from "../machine.js";
import { exists, listGroup, type ProcessRow, processAt } from "../process/process-table.js";

type Life = "alive" | "dead" | "unknown";

interface CommandMark {
  readonly pid: number;
  /** 0 when the system does not tell. */
  readonly started_at: number;
  readonly pid_namespace: string;
  /** Empty when it is unknown. */
  readonly boot_id: string;
  /** It has a process group of its own, with its pid as number. */
  readonly has_own_group: boolean;
}

/** Where the line begins, in bytes: behind the one that wakes. */
export const MARK_AT = 512;

/** The line for a command that this process has just started and not yet waited for; empty where nobody could check it. */
export function markOf(pid: number, hasOwnGroup: boolean): string {
  const row = processAt(pid);
  if (row === null) return "";
  const mark: CommandMark = {
    pid,
    started_at: row.startedAt,
    pid_namespace: pidNamespace(),
    boot_id: thisMachine().bootId,
    has_own_group: hasOwnGroup,
  };
  return `${JSON.stringify(mark)}\n`;
}

/**
 * Whether something of the command that this proof names is alive. One that names none has none. Where its pids mean nothing,
 * as in another container, and where a file or a process cannot be looked at, nobody can tell.
 */
export function lifeOfCommand(path: string): Life {
  const text = readText(path);
  // mutant: command-unread: if (text === null) return "unknown"; → if (text === null) return "dead";
  if (text === null) return "unknown";
  const mark = parseMark(text);
  if (mark === null) return "dead";
  // mutant: command-before-restart: if (isOtherBoot({ bootId: mark.boot_id }, thisMachine())) return "dead"; → if (isOtherBoot({ bootId: "" }, thisMachine())) return "dead";
  if (isOtherBoot({ bootId: mark.boot_id }, thisMachine())) return "dead";
  // mutant: command-elsewhere: pidNamespace()) return "unknown"; → pidNamespace()) return "dead";
  if (mark.pid_namespace !== pidNamespace()) return "unknown";
  const row = processAt(mark.pid);
  if (row === null && exists(mark.pid)) return "unknown";
  // mutant: command-start-grain: isOtherStart(startOf(row.startedAt), startOf(mark.started_at)) → isOtherStart(startOf(row.startedAt * 2), startOf(mark.started_at * 2))
  if (row !== null && isOtherStart(startOf(row.startedAt), startOf(mark.started_at))) return "dead";
  // mutant: run-command-mark: (row !== null && !row.isZombie) return "alive"; → (row !== null) return "dead";
  if (row !== null && !row.isZombie) return "alive";
  return mark.has_own_group ? lifeOfGroup(mark) : "dead";
}

/** One that is there and shows no member is hidden from us. */
function lifeOfGroup({ pid, started_at }: CommandMark): Life {
  if (!exists(-pid)) return "dead";
  const members = listGroup(pid);
  if (members.length === 0) return exists(-pid) ? "unknown" : "dead";
  const mayBeOfIt = ({ startedAt }: ProcessRow): boolean => startedAt === 0 || startedAt >= started_at - 1;
  return members.some((row) => !row.isZombie && mayBeOfIt(row)) ? "alive" : "dead";
}

/** As `isOtherStart` takes it. */
function startOf(ticks: number): string {
  return ticks === 0 ? "" : String(ticks);
}

/** Null when it cannot be read, for want of descriptors perhaps: that is no proof that it names nothing. */
function readText(path: string): string | null {
  try {
    // mutant: command-mark-in-bytes: (path).toString("utf8", MARK_AT) → (path, "utf8").slice(MARK_AT)
    return readFileSync(path).toString("utf8", MARK_AT);
  } catch {
    return null;
  }
}

function parseMark(text: string): CommandMark | null {
  try {
    return JSON.parse(text) as CommandMark;
  } catch {
    return null;
  }
}
