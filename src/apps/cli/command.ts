/**
 * Describes a command as one typed object: its name, its arguments and flags, its help and examples, and the function that
 * runs it. The parser, the help, the completion scripts, docs/cli.md and the usage errors all read these objects, and the
 * types of `args` and `flags` in `run` come from them, so that a misspelled flag does not compile.
 */

import type { Holdfast } from "../../client/holdfast.js";
import type { Workspace } from "../../features/configuration.js";
import type { Screen } from "./output/screen.js";

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
 * The kind of value that follows a flag. `boolean` takes none; `pairs` is `name=value`, repeatable, and becomes one object;
 * `integer` becomes a number; the others become text, checked.
 */
type FlagType = "boolean" | "text" | "duration" | "integer" | "pairs" | "time";

export interface FlagSpec {
  readonly type: FlagType;
  readonly help: string;
  /** Shown for the value: `--ttl DURATION`. Default by type. */
  readonly value?: string;
  readonly short?: string;
  readonly choices?: readonly string[];
  /** Allows the flag several times; its value is then a list. */
  readonly repeat?: boolean;
  readonly required?: boolean;
  /** Of a `time`: `15m` means that long from now; otherwise that long ago. */
  readonly isAhead?: boolean;
}

export interface ArgumentSpec {
  readonly help: string;
  readonly optional?: boolean;
  /** Takes one word or more, with `optional` none or more. Only the last argument may have it. */
  readonly many?: boolean;
  readonly choices?: readonly string[];
}

/** The words behind `--`. */
export interface RestSpec {
  readonly name: string;
  readonly help: string;
  readonly optional?: boolean;
}

/** By name without the dashes: `ttl`, `dry-run`. */
export type FlagSpecs = Readonly<Record<string, FlagSpec>>;
/** By name in capitals, in the order in which they are typed: `KEY`. */
export type ArgumentSpecs = Readonly<Record<string, ArgumentSpec>>;

type None = Record<never, never>;
type Word<S> = S extends { readonly choices: readonly (infer C extends string)[] } ? C : string;

type FlagValue<S extends FlagSpec> = S extends { readonly type: "boolean" }
  ? boolean
  : S extends { readonly repeat: true }
    ? readonly Word<S>[]
    : OneValue<S> | (S extends { readonly required: true } ? never : undefined);

type OneValue<S extends FlagSpec> = S extends { readonly type: "integer" }
  ? number
  : S extends { readonly type: "pairs" }
    ? Readonly<Record<string, string>>
    : Word<S>;

type ArgumentValue<S extends ArgumentSpec> = S extends { readonly many: true }
  ? readonly Word<S>[]
  : Word<S> | (S extends { readonly optional: true } ? undefined : never);

/** The values of these flags, as `run` gets them. */
export type FlagValues<F extends FlagSpecs> = { readonly [Name in keyof F]: FlagValue<F[Name]> };
type ArgumentValues<A extends ArgumentSpecs> = { readonly [Name in keyof A]: ArgumentValue<A[Name]> };

/** The flags of every command. */
export const GLOBAL_FLAGS = {
  root: { type: "text", value: "DIR", help: "folder of the workspace (default: HOLDFAST_ROOT, else found upwards)" },
  store: { type: "text", value: "URL", help: "where locks are kept (default: HOLDFAST_STORE, else as recorded)" },
  owner: {
    type: "text",
    value: "ID",
    help: "who acts, such as agent:7; else HOLDFAST_OWNER, else the run of an agent, else user:NAME@HOST",
  },
  json: { type: "boolean", help: "exactly one JSON document on stdout, also for errors" },
  quiet: { type: "boolean", short: "q", help: "no words but those of an error (and --json)" },
  "no-color": { type: "boolean", help: "no colours; so does NO_COLOR" },
  help: { type: "boolean", short: "h", help: "what a command does" },
  version: { type: "boolean", help: "which version this is" },
} as const satisfies FlagSpecs;

type GlobalFlags = Pick<FlagValues<typeof GLOBAL_FLAGS>, "root" | "store" | "owner" | "json" | "quiet">;

/** Everything that a command gets apart from its own arguments and flags. */
export interface BaseContext {
  /** `lock acquire`. */
  readonly command: string;
  readonly flags: GlobalFlags;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly screen: Screen;
  /** The root, store, owner and configuration in force. Throws `E_CONFIG` when there is no workspace. */
  workspace(): Workspace;
  /** The same for a command that acquires: the workspace may not be there yet, and `openHoldfast` makes it. */
  settings(init?: { readonly isNested: boolean }): Workspace;
  /** Opens the store, and makes it and the workspace when they are not there yet. It is closed when the command ends. */
  openHoldfast(made?: "init" | "nested"): Promise<Holdfast>;
  /** The same for reading: returns null when no store exists yet. Creates nothing. */
  openForReading(): Promise<Holdfast | null>;
  /** Aborts at Ctrl-C and SIGTERM. Reading it takes over the handling of both. */
  readonly signal: AbortSignal;
}

/** The argument of `run`. It prints nothing itself, except for streams. */
type Context<
  A extends ArgumentSpecs = None,
  F extends FlagSpecs = None,
  R extends RestSpec | undefined = undefined,
> = BaseContext & {
  readonly args: ArgumentValues<A>;
  readonly flags: FlagValues<F>;
} & (R extends RestSpec ? { readonly rest: readonly string[] } : unknown);

/** A context with at least these flags and arguments: the parameter of a function that several commands share. */
export type ContextWith<Flags, Args = unknown> = BaseContext & { readonly flags: Flags; readonly args: Args };

export interface Outcome {
  /** For `--json`: the `data` of the one document. Left out when the command has streamed, or has nothing to report. */
  readonly data?: unknown;
  /** For people, on stdout. Called only when it is wanted. */
  readonly text?: (screen: Screen) => string;
  /** The text was written by another program, and goes to the terminal as it is. */
  readonly isRaw?: boolean;
  /** For people, on stderr: remarks that are not the result. */
  readonly notes?: readonly string[];
  /** Default 0. */
  readonly exit?: number;
}

interface Description<A, F, R> {
  /** One word or more: `init`, `lock acquire`. */
  readonly name: string;
  readonly group: Group;
  /** One line, no full stop. */
  readonly summary: string;
  /** More for `--help`: plain paragraphs. */
  readonly about?: readonly string[];
  readonly args?: A;
  readonly flags?: F;
  /** The words behind `--`, for a command that takes such: `CMD`. */
  readonly rest?: R;
  readonly examples?: readonly (readonly [command: string, meaning: string])[];
}

interface CommandSpec<A extends ArgumentSpecs, F extends FlagSpecs, R extends RestSpec | undefined>
  extends Description<A, F, R> {
  /** Imports its implementation itself (`await import(…)`): a start loads the descriptions of all commands. */
  readonly run: (context: Context<A, F, R>) => Promise<Outcome>;
}

/** A command for the table, the parser and the help, which do not know the types of its arguments and flags. */
export interface Command extends Description<ArgumentSpecs, FlagSpecs, RestSpec> {
  readonly run: (context: BaseContext & AnyWords) => Promise<Outcome>;
}

/** The checked words of a command line: `args`, `flags` and `rest` of a context, whatever the command. */
export interface AnyWords {
  readonly args: Readonly<Record<string, unknown>>;
  readonly flags: Readonly<Record<string, unknown>> & GlobalFlags;
  readonly rest: readonly string[];
}

/** Checks the types of a command and returns it as an entry of the table. */
export function command<
  const A extends ArgumentSpecs = None,
  const F extends FlagSpecs = None,
  const R extends RestSpec | undefined = undefined,
>(spec: CommandSpec<A, F, R>): Command {
  return spec as unknown as Command;
}

export type Named<S> = S & { readonly name: string };

/** Returns the specs of an object as a list, each with its name. */
export function named<S>(specs: Readonly<Record<string, S>> = {}): readonly Named<S>[] {
  return Object.entries(specs).map(([name, spec]) => ({ name, ...spec }));
}
