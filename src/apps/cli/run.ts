import { isHoldfastError } from "../../base/errors.js";
import type { Holdfast } from "../../client/holdfast.js";
import { assertShared, type Place, requireWorkspace } from "../../client/workspace/find-workspace.js";
import { findWorkspace, type Workspace } from "../../features/configuration.js";
import { currentFolder } from "../../platform/current-folder.js";
import type { AnyWords, BaseContext, Command, Outcome } from "./command.js";
import { Interrupted } from "./input/interrupted.js";
import { type Parsed, parse } from "./input/parse.js";
import { argumentsFor, flagsFor } from "./input/values.js";
import { madeNote } from "./output/made-note.js";
import { createScreen, type Screen } from "./output/screen.js";
import { writeOut } from "./output/standard-streams.js";
import { TABLE } from "./table.js";

/** Returns the exit code. Never throws. */
export async function main(words: readonly string[]): Promise<number> {
  const { env } = process;
  const before = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
  const screen = createScreen({
    json: before.includes("--json"),
    quiet: before.includes("--quiet") || before.includes("-q"),
    noColor: before.includes("--no-color"),
    env,
  });
  const [first = "", ...others] = before.filter((word) => !word.startsWith("-"));
  const isWhole = TABLE.some(({ name }) => name === first);
  let command = [first, ...others.slice(0, isWhole ? 0 : 1)].join(" ");
  const ending = createEnding();
  try {
    const parsed = parse(words, TABLE);
    command = parsed.command;
    const outcome = await carryOut(parsed, screen, ending);
    await ending.close();
    return show(outcome, command, screen);
  } catch (error) {
    await ending.close().catch(() => undefined);
    const { showError } = await import("./output/failure.js");
    return showError(error, command, screen, words);
  }
}

async function carryOut(parsed: Parsed, screen: Screen, ending: Ending): Promise<Outcome> {
  if (parsed.flags.has("version")) return (await import("./help.js")).version();
  if (parsed.row === null || parsed.flags.has("help")) return (await import("./help.js")).help(parsed, TABLE);
  const context = createContext(parsed, parsed.row, screen, ending);
  try {
    return await parsed.row.run(context);
  } catch (error) {
    if (isHoldfastError(error, "E_FORBIDDEN")) await putOnRecord(error, context);
    throw error;
  }
}

async function putOnRecord(error: unknown, { flags: { root, store }, cwd, env }: BaseContext): Promise<void> {
  const { recordClaim } = await import("../../client/workspace/refused-claims.js");
  await recordClaim(error, (acting) => findWorkspace({ root, store, acting }, { cwd, env }));
}

function show({ data, text, notes = [], exit = 0, isRaw = false }: Outcome, command: string, screen: Screen): number {
  if (screen.json) {
    if (data !== undefined) writeOut(`${JSON.stringify({ ok: true, command, data })}\n`);
    return exit;
  }
  if (screen.quiet) return exit;
  const words = text?.(screen) ?? "";
  if (words !== "") (isRaw ? writeOut : screen.tell)(words.endsWith("\n") ? words : `${words}\n`);
  for (const note of notes) screen.say(note);
  return exit;
}

/** What must be let go of before the process ends. */
interface Ending {
  readonly stops: (() => void)[];
  readonly opened: Holdfast[];
  close(): Promise<void>;
}

function createEnding(): Ending {
  const stops: (() => void)[] = [];
  const opened: Holdfast[] = [];
  return {
    stops,
    opened,
    async close() {
      for (const holdfast of opened.splice(0)) await holdfast.close();
      for (const stop of stops.splice(0)) stop();
    },
  };
}

function createContext(parsed: Parsed, row: Command, screen: Screen, ending: Ending): BaseContext & AnyWords {
  const { env } = process;
  const cwd = currentFolder();
  const flags = flagsFor(row.flags, parsed.flags);
  let workspace: Workspace | undefined;
  let holdfast: Promise<Holdfast> | undefined;
  let reading: Promise<Holdfast | null> | undefined;
  let controller: AbortController | undefined;
  const open = async (made?: "init" | "nested"): Promise<Holdfast> => {
    const here = context.settings();
    if (here.run !== null) {
      const { assertOwnTokens } = await import("../../client/workspace/run-tokens.js");
      assertOwnTokens(here, env, tokensIn(flags, env));
    }
    const { openIn } = await import("../../client/open-holdfast.js");
    const opened = await openIn(here, made !== undefined ? { made } : { onMade: (root) => screen.say(madeNote(root)) });
    ending.opened.push(opened);
    // It is there and recorded now, if it was not.
    if (!here.isThere || here.record === null) workspace = undefined;
    return opened;
  };
  const openForReading = async (): Promise<Holdfast | null> => {
    const client = await import("../../client/open-holdfast.js");
    const opened = await client.openForReading(context.workspace());
    if (opened !== null) ending.opened.push(opened);
    return opened;
  };
  const context: BaseContext & AnyWords = {
    command: parsed.command,
    flags,
    args: argumentsFor(row.args, parsed.args),
    rest: parsed.rest,
    env,
    cwd,
    screen,
    workspace() {
      requireWorkspace(context.settings());
      return context.settings();
    },
    settings(init) {
      if (init !== undefined) workspace = undefined;
      workspace ??= settingsFor(flags, init === undefined ? { cwd, env } : { cwd, env, init });
      return workspace;
    },
    openHoldfast(made) {
      holdfast ??= open(made);
      return holdfast;
    },
    openForReading() {
      reading ??= openForReading();
      return reading;
    },
    get signal() {
      controller ??= listenForSignals(ending);
      return controller.signal;
    },
  };
  return context;
}

function settingsFor({ root, store, owner }: BaseContext["flags"], place: Place): Workspace {
  const found = findWorkspace({ root, store, owner }, place);
  assertShared(found);
  return found;
}

/** The lease tokens that the command was given. */
function tokensIn(flags: Readonly<Record<string, unknown>>, env: NodeJS.ProcessEnv): readonly string[] {
  const given = [flags.token, env.HOLDFAST_LEASE_TOKEN].flat();
  return given.filter((token): token is string => typeof token === "string" && token !== "");
}

function listenForSignals({ stops }: Ending): AbortController {
  const controller = new AbortController();
  for (const [name, exit] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    const stop = (): void => controller.abort(new Interrupted(name, exit));
    process.once(name, stop);
    stops.push(() => process.off(name, stop));
  }
  return controller;
}
