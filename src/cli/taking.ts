/** What `lock acquire` and `lock steal` share: the flags of a request, the token kept first, word of the wait. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Holdfast } from "../lease/holdfast.js";
import type { AcquireOptions } from "../lease/options.js";
import type { Mode } from "../lock/mode.js";
import { pathKey } from "../lock/path-key.js";
import { acquireDetached, tokensAround } from "../workspace/detached.js";
import type { Context, Outcome } from "./context.js";
import { grantsOutcome, tokenAround, tokenFiles } from "./detached.js";
import { span } from "./moments.js";
import { notingOwn } from "./own-grant.js";
import { tellingLater } from "./telling-later.js";
import { count } from "./text.js";

export async function take(context: Context, how: "acquire" | "steal"): Promise<Outcome> {
  const holdfast = await context.openHoldfast();
  const keys = context.args("KEY");
  const options = { ...requestOf(context), ...(how === "acquire" ? await claimOf(context, holdfast) : {}) };
  const files = tokenFiles(context, holdfast);
  const asked = acquireDetached(how, holdfast, files, keys, options);
  const lease = await tellingOfTheWait(context, holdfast, keys, asked).catch((error: unknown) => {
    throw notingOwn(error, holdfast.owner, files);
  });
  const grants = lease.grants.map((grant) => ({ ...grant, lease_token: lease.token }));
  const outcome = grantsOutcome(how === "steal" ? "taken over" : "acquired", grants);
  return { ...outcome, notes: keys.flatMap((key) => remarkOn(context, key)) };
}

/** Who types the name of a file means the lock of that file, which is the one that agents' hooks look at. */
function remarkOn(context: Context, key: string): readonly string[] {
  const { root } = context.workspace();
  if (root === null) return [];
  try {
    const path = resolve(context.cwd, key);
    if (!statSync(path).isFile()) return [];
    return [`${key} is a file here, and this is not its lock: that is ${pathKey(root, path)}`];
  } catch {
    return []; // Most keys are none, or none of the workspace.
  }
}

function requestOf({ flags, signal }: Context): AcquireOptions {
  const mode = flags.text("mode") as Mode | undefined;
  const ttl = flags.text("ttl");
  const metadata = flags.pairs("meta");
  const pid = flags.integer("pid");
  return {
    signal,
    ...(mode === undefined ? {} : { mode }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(metadata === undefined ? {} : { metadata }),
    ...(pid === undefined ? {} : { pid }),
  };
}

async function claimOf(context: Context, holdfast: Holdfast): Promise<AcquireOptions> {
  const { flags } = context;
  const wait = flags.text("wait");
  const permits = flags.integer("permits");
  const said = flags.list("token");
  const presenting = said.length > 0 ? said : await tokensAround(holdfast, tokenAround(context));
  return {
    presenting,
    ...(wait === undefined ? {} : { wait }),
    ...(permits === undefined ? {} : { permits }),
  };
}

/** On a terminal, whoever waits is told for whom. */
export function tellingOfTheWait<T>(
  { screen }: Context,
  holdfast: Holdfast,
  keys: readonly string[],
  work: Promise<T>,
): Promise<T> {
  return tellingLater(screen, () => whoIsThere(holdfast, keys), work);
}

async function whoIsThere(holdfast: Holdfast, keys: readonly string[]): Promise<string> {
  for (const key of keys) {
    const { holders, line } = await holdfast.explain(key);
    const [first] = holders;
    if (first !== undefined)
      return `waiting for ${key}: ${first.owner} holds it, ${span(first.lease_remaining_s)} left${inLine(line.length - 1)} (Ctrl-C stops)`;
  }
  return `waiting for ${keys.join(", ")} (Ctrl-C stops)`;
}

function inLine(others: number): string {
  return others > 0 ? `, ${count(others, "other")} in line` : "";
}
