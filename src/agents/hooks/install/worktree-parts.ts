/** Lists the parts of files that linked worktrees need: what is copied into them, and what the sandbox of Codex lets them write. */
import { linkedCopiesOf } from "../../../client/workspace/repository.js";
import type { AgentClient } from "../call.js";
import type { FilePart } from "./change-plan.js";
import { codexSandboxPart } from "./codex-sandbox.js";
import { worktreeIncludePart } from "./worktree-include.js";

/** The setting of the sandbox names a folder of this machine, so it is written only where there is a linked worktree. */
export function worktreeParts(
  root: string,
  client: AgentClient,
  files: readonly string[],
  hasWorktrees = linkedCopiesOf(root).length > 0,
): readonly FilePart[] {
  const sandbox = client === "codex" && hasWorktrees ? [codexSandboxPart(root)] : [];
  const include = worktreeIncludePart(root, client, [...files, ...sandbox.map(({ path }) => path)]);
  return include === null ? sandbox : [...sandbox, include];
}
