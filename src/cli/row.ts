/** What a row of the command table says. Parsing, help, completion, docs/cli.md and usage errors all come from it. */
import type { Command } from "./context.js";

export const GROUPS = [
  "set-up",
  "locks",
  "run",
  "publish",
  "deliverables",
  "board",
  "worktrees",
  "jobs",
  "record",
  "faces",
] as const;
type Group = (typeof GROUPS)[number];

/**
 * What is written behind a flag. `boolean` takes nothing; `pairs` is `name=value`, repeatable, and comes out as one
 * object; the others come out as text or number, checked.
 */
type FlagType = "boolean" | "text" | "duration" | "integer" | "pairs" | "time";

export interface FlagRow {
  readonly name: string;
  readonly type: FlagType;
  readonly help: string;
  /** Shown for the value: `--ttl DURATION`. Default by type. */
  readonly value?: string;
  readonly short?: string;
  readonly choices?: readonly string[];
  /** May be given several times; comes out as a list. */
  readonly repeat?: boolean;
  readonly required?: boolean;
  /** Of a `time`: `15m` means that long from now on; else that long ago. */
  readonly isAhead?: boolean;
}

export interface ArgumentRow {
  /** In capitals: `KEY`. */
  readonly name: string;
  readonly help: string;
  readonly optional?: boolean;
  /** One or more, or with `optional` none or more; only the last argument. */
  readonly many?: boolean;
  readonly choices?: readonly string[];
}

export interface RestRow {
  readonly name: string;
  readonly help: string;
  readonly optional?: boolean;
}

export interface CommandRow {
  /** One word or two: `init`, `lock acquire`. */
  readonly name: string;
  readonly group: Group;
  /** One line, no full stop. */
  readonly summary: string;
  /** More for `--help`: plain paragraphs. */
  readonly about?: readonly string[];
  readonly args?: readonly ArgumentRow[];
  readonly flags?: readonly FlagRow[];
  /** What stands behind `--`, when the command takes such: `CMD`. */
  readonly rest?: RestRow;
  readonly examples?: readonly (readonly [command: string, meaning: string])[];
  /** Loaded only when this command runs. */
  readonly load: () => Promise<Command>;
}

/** Every command knows these. */
export const GLOBAL_FLAGS: readonly FlagRow[] = [
  { name: "root", type: "text", value: "DIR", help: "the workspace; else HOLDFAST_ROOT, else the nearest .holdfast/" },
  { name: "store", type: "text", value: "URL", help: "where locks are kept; else HOLDFAST_STORE, else the config" },
  {
    name: "owner",
    type: "text",
    value: "ID",
    help: "who acts, such as agent:7; else HOLDFAST_OWNER, else user:NAME@HOST",
  },
  { name: "json", type: "boolean", help: "exactly one JSON document on stdout, also for errors" },
  { name: "quiet", type: "boolean", short: "q", help: "no words but those of an error (and --json)" },
  { name: "no-color", type: "boolean", help: "no colours; so does NO_COLOR" },
  { name: "help", type: "boolean", short: "h", help: "what a command does" },
  { name: "version", type: "boolean", help: "which version this is" },
];
