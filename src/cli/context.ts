/** What a command gets, and what it gives back. It prints nothing itself, except for streams. */

import type { Workspace } from "../features/configuration.js";
import type { Holdfast } from "../lease/holdfast.js";
import type { Screen } from "./screen.js";
import type { Value } from "./values.js";

export interface Context {
  /** `lock acquire`. */
  readonly command: string;
  readonly flags: Flags;
  /** The only word for this argument. */
  arg(name: string): string;
  /** All words for it, perhaps none. */
  args(name: string): readonly string[];
  /** What stood behind `--`. */
  readonly rest: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly screen: Screen;
  /** Where we are: root, store, owner, configuration. `E_CONFIG` when there is no workspace. */
  workspace(): Workspace;
  /** Opens the store, making it when it is not there yet. Closed for the command when it is done. */
  openHoldfast(): Promise<Holdfast>;
  /** The same for reading: null when there is no store yet. Creates nothing. */
  openForReading(): Promise<Holdfast | null>;
  /** Aborts at Ctrl-C and SIGTERM; asking for it takes over the handling of both. */
  readonly signal: AbortSignal;
}

/** The flags that were given, checked by the table. */
export interface Flags {
  has(name: string): boolean;
  text(name: string): string | undefined;
  integer(name: string): number | undefined;
  list(name: string): readonly string[];
  pairs(name: string): Readonly<Record<string, string>> | undefined;
}

export interface Outcome {
  /** For `--json`: the `data` of the one document. Leave it out when the command has streamed, or has no word to say. */
  readonly data?: unknown;
  /** For people, on stdout. Called only when it is wanted. */
  readonly text?: (screen: Screen) => string;
  /** The text is what another program wrote, and goes to the terminal as it is. */
  readonly isRaw?: boolean;
  /** For people, on stderr: remarks that are no result. */
  readonly notes?: readonly string[];
  /** Default 0. */
  readonly exit?: number;
}

export interface Command {
  run(context: Context): Promise<Outcome>;
}

export function createFlags(given: ReadonlyMap<string, Value>): Flags {
  const as = <T extends Value>(name: string): T | undefined => given.get(name) as T | undefined;
  return {
    has: (name) => given.has(name),
    text: (name) => as<string>(name),
    integer: (name) => as<number>(name),
    list: (name) => as<readonly string[]>(name) ?? [],
    pairs: (name) => as<Record<string, string>>(name),
  };
}
