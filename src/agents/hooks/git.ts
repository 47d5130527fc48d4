/** Runs git for the hooks, and gives its failures the code of a workspace without a repository. */
import { execFileSync } from "node:child_process";
import { HoldfastError } from "../../base/errors.js";

/** Returns what git prints. Throws `E_CONFIG` when the folder is not in a repository, or git cannot be started. */
export function git(cwd: string, ...args: readonly string[]): string {
  try {
    return execFileSync("git", args, { cwd, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw notUsable(cwd, error as NodeJS.ErrnoException & { readonly stderr?: string });
  }
}

function notUsable(cwd: string, { code, stderr = "", message }: NodeJS.ErrnoException & { readonly stderr?: string }) {
  const details = { path: cwd };
  // mutant: git-is-not-there: if (code === "ENOENT") → if (code === "")
  if (code === "ENOENT")
    return new HoldfastError("E_CONFIG", "git cannot be started: there is no program git on the PATH", {
      reason: "not_installed",
      details,
      next: ["Install git, or add its folder to the PATH."],
    });
  const why = stderr.trim().split("\n", 1)[0] || message;
  const isOutside = why.includes("not a git repository");
  return new HoldfastError(
    "E_CONFIG",
    isOutside ? `${cwd} is not in a git repository` : `git failed in ${cwd}: ${why}`,
    {
      reason: "not_installed",
      details,
      next: [isOutside ? "git init" : "Run the command in a folder of the repository in which git status works."],
    },
  );
}
