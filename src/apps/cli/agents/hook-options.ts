/** Converts the flags of `hook install` to the options of the installer. */

import type { HookOptions } from "../../../agents/hooks/install/client-entries.js";
import { findLauncher } from "../../../agents/hooks/install/launcher.js";
import { type Duration, parseDuration } from "../../../base/duration.js";

/** A client gives a hook up after some minutes whatever it was told. */
const LONGEST_WAIT_MS = 300_000;

interface HookFlags {
  readonly ttl?: string | undefined;
  readonly wait?: string | undefined;
  readonly "each-turn"?: boolean;
}

export function hookOptions(
  env: NodeJS.ProcessEnv,
  { ttl, wait, "each-turn": eachTurn = false }: HookFlags,
): HookOptions {
  const ms = parseDuration((wait ?? 0) as Duration, "wait", { atLeastMs: 0, atMostMs: LONGEST_WAIT_MS });
  return {
    launcher: findLauncher(env, process.argv[1] ?? ""),
    ttl,
    wait,
    waitSeconds: Math.ceil(ms / 1_000),
    eachTurn,
  };
}

export function launcherNotes({ launcher }: HookOptions): readonly string[] {
  if (!launcher.isLocal) return [];
  return [
    "holdfast is not on the PATH, so its place on this machine was written; to share these files, install holdfast with npm install -g, then do this again",
  ];
}
