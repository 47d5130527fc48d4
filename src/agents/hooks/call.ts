/**
 * Defines a hook call, the same for all agent tools: the point of a run, the run, and the files that are about to be
 * written. A dialect translates an agent tool's own input into a `HookCall`, and the answer back into that tool's
 * format.
 */

/** The clients that tell before they write. git has no dialect: its hook looks at what is staged. */
export const AGENT_CLIENTS = ["claude", "codex", "cursor", "gemini"] as const;
export type AgentClient = (typeof AGENT_CLIENTS)[number];

export const CLIENTS = [...AGENT_CLIENTS, "git"] as const;
export type Client = (typeof CLIENTS)[number];

/** `before` may be refused; the others are only told. */
export type Moment = "start" | "before" | "after" | "turn-end" | "agent-end" | "end";

export interface HookCall {
  readonly moment: Moment;
  /** As the client calls it. */
  readonly event: string;
  /** Whose dialect it really is: a client may run the hooks of another. */
  readonly client: AgentClient;
  /** The client's name for the run; null when it gives none. */
  readonly session: string | null;
  /** The sub-agent within the run; null for the main one. */
  readonly agent: string | null;
  /** Relative paths start here; null: where the hook was started. */
  readonly cwd: string | null;
  readonly intent: Intent;
}

/** What is about to be written, as far as it can be told. */
export interface Intent {
  /** As the client wrote them. Relative ones start at the call's `cwd`. */
  readonly files: readonly string[];
  /** Those of them that are folders somewhere in which files are written: only the shell or git knows which. */
  readonly somewhereIn: readonly string[];
  /** Those of them that are removed or moved away, with all that lies below. */
  readonly removed: readonly string[];
  /** Commands that change files all over a working tree, such as `git reset --hard`. */
  readonly wholeTrees: readonly WholeTree[];
  /** A command of holdfast that is not an agent's to give. */
  readonly notForAgents: string | null;
}

/** A command that changes a working tree, and the folder that it runs in; null: that cannot be told. */
export interface WholeTree {
  readonly command: string;
  readonly folder: string | null;
  /** What it does with files that git does not track; null where it leaves them alone. */
  readonly sweeps: Sweep | null;
}

export interface Sweep {
  /** Also those that git ignores. */
  readonly isOfIgnored: boolean;
  /** Only below these folders; none: below the folder that it runs in. Null where that cannot be told. */
  readonly below: readonly string[] | null;
}

export const NO_INTENT: Intent = { files: [], somewhereIn: [], removed: [], wholeTrees: [], notForAgents: null };

/** What a refusal says; null lets the client go on. */
export type Refusal = string | null;

/** What the hook process prints and how it ends. */
export interface Answer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: number;
}

export interface Dialect {
  /** Throws when the input cannot be understood: then it is refused. */
  read(input: unknown): HookCall;
  answer(moment: Moment, refusal: Refusal): Answer;
  /** Returns what shows a remark to the agent at this event and refuses nothing; null where the tool has no way for that. */
  tell(event: string, remark: string): Answer | null;
}
