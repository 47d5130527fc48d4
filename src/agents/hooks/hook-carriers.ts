/**
 * Recognizes the files that carry the hooks: an agent that empties one of them is no longer checked. They are the settings
 * files of agent tools in which a Holdfast hook is installed, wherever they lie, the hooks of git in the workspace, and a
 * hook of git elsewhere that runs Holdfast. A folder such as `.claude` carries hooks when such a file lies in it.
 */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { pathKeyInside } from "../../client/path-key.js";
import { AGENT_CLIENTS } from "./call.js";
import { clientFile } from "./install/client-entries.js";

const NO_LAUNCHER = { launcher: { command: "", args: [], isLocal: false }, waitSeconds: 0, eachTurn: false };
/** Such as `.claude/settings.json`, and what a tool reads beside it. */
const SETTINGS = [
  ...AGENT_CLIENTS.map((client) => clientFile(client, NO_LAUNCHER).file),
  ".claude/settings.local.json",
  ".codex/config.toml",
];
const HOOK = /\bhook check (claude|codex|cursor|gemini|git)\b/;
const GIT_HOOKS = `${sep}.git${sep}hooks${sep}`;

/** Whether an agent that writes, removes or moves this path could take hooks away. */
export function carriesHooks(root: string, path: string): boolean {
  const real = realPath(path);
  if (`${real}${sep}`.includes(GIT_HOOKS)) return pathKeyInside(root, path) !== null || holdsHook(real);
  return SETTINGS.some((file) => {
    if (real.endsWith(`${sep}${file}`)) return holdsHook(real);
    return basename(real) === dirname(file) && holdsHook(join(real, basename(file)));
  });
}

function holdsHook(file: string): boolean {
  try {
    return HOOK.test(readFileSync(file, "utf8"));
  } catch {
    return false;
  }
}

/** With the links of the folder resolved, and of the file where it is there. */
function realPath(path: string): string {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined
      ? join(realpathSync(dirname(path)), basename(path))
      : realpathSync(path);
  } catch {
    return path;
  }
}
