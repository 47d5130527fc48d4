/**
 * Reports for `doctor hooks` what linked worktrees of the repository lack: the settings file in which the hook of an agent tool
 * is installed, and what lets the sandbox of Codex write the store. It reads files and starts nothing. A hook in the settings
 * of the user counts for every worktree; what lies in the user's home is looked for under `HOME` alone.
 */
import { dirname, join } from "node:path";
import { isHoldfastError } from "../../base/errors.js";
import { type LinkedCopy, linkedCopiesOf } from "../../client/workspace/repository.js";
import { isThere, textAt } from "../../platform/look-up.js";
import type { AgentClient } from "./call.js";
import { clientFile } from "./install/client-entries.js";
import { CODEX_CONFIG, folderOfStore, letsWrite } from "./install/codex-sandbox.js";
import { ourCommands } from "./install/hook-file.js";
import { shellLine } from "./install/launcher.js";
import type { Proof } from "./prove.js";

const NO_LAUNCHER = { launcher: { command: "", args: [], isLocal: false }, waitSeconds: 0, eachTurn: false };

/** None where no hook of this agent tool is installed in the root. */
export function proofsOfWorktrees(root: string, client: AgentClient, { HOME }: NodeJS.ProcessEnv): readonly Proof[] {
  const { file } = clientFile(client, NO_LAUNCHER);
  const isHooked = (folder: string): boolean => hasHook(textAt(join(folder, file)) ?? "");
  if (!isHooked(root)) return [];
  // mutant: worktree-of-user: HOME !== undefined && isHooked(HOME) → HOME === ""
  const isEverywhere = HOME !== undefined && isHooked(HOME);
  return linkedCopiesOf(root).flatMap((copy) => [
    ...(isEverywhere ? [] : [proofOfHook(root, client, file, copy, isHooked(copy.folder))]),
    ...(client === "codex" ? [proofOfSandbox(root, copy, HOME)] : []),
  ]);
}

/** A file that is not JSON runs no hook. */
function hasHook(text: string): boolean {
  try {
    return ourCommands(text || "{}").length > 0;
  } catch (error) {
    if (isHoldfastError(error, "E_CONFIG")) return false;
    throw error;
  }
}

function proofOfHook(
  root: string,
  client: AgentClient,
  file: string,
  { name, folder }: LinkedCopy,
  ok: boolean,
): Proof {
  const check = `the hook runs in the linked worktree ${name}`;
  if (ok) return { client, check, ok, message: "" };
  const to = join(folder, file);
  return {
    client,
    check,
    ok,
    message: `${to} has no hook of holdfast`,
    next: carryOver(join(root, file), to, "the hooks"),
  };
}

/** Where the sandbox admits only the worktree, the commands of an agent cannot write the store. */
function proofOfSandbox(root: string, { name, folder }: LinkedCopy, home: string | undefined): Proof {
  const store = folderOfStore(root);
  const check = `the sandbox lets commands in the linked worktree ${name} write the store`;
  const isAllowed = (at: string): boolean => letsWrite(textAt(join(at, CODEX_CONFIG)) ?? "", store);
  // mutant: worktree-sandbox: const ok = isAllowed(folder) → const ok = folder !== "" || isAllowed(folder)
  const ok = isAllowed(folder) || (home !== undefined && isAllowed(home));
  if (ok) return { client: "codex", check, ok, message: "" };
  const to = join(folder, CODEX_CONFIG);
  const message = `writable_roots of [sandbox_workspace_write] in ${to} lacks ${store}`;
  const install = isAllowed(root) ? "" : "holdfast hook install codex, then: ";
  const next = install + carryOver(join(root, CODEX_CONFIG), to, "writable_roots");
  return { client: "codex", check, ok, message, next };
}

/** What a file in the worktree says is not overwritten. */
function carryOver(from: string, to: string, what: string): string {
  if (isThere(to)) return `Add ${what} of ${from} to ${to}.`;
  const command = (...[name = "", ...args]: readonly string[]): string =>
    shellLine({ command: name, args, isLocal: false }, []);
  return `${command("mkdir", "-p", dirname(to))} && ${command("cp", from, to)}`;
}
