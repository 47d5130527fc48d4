/** The tool `lock_acquire`: acquires locks for the run. Keys that the run already holds are not requested again. */
import * as z from "zod";
import { given } from "../../../base/given.js";
import type { LastingRecord } from "../../../client/reading/lock-status.js";
import { MODES } from "../../../lock/mode.js";
import { OWN_GRANTS, ownGrant, ownLine } from "../grants.js";
import { span } from "../quoting.js";
import { tellingOfTheWait } from "../run/wait-progress.js";
import { wantedKeys } from "../run/wanted-keys.js";
import { type Answer, DEFAULT_TTL_S, defineTool, keys, LIST, run, ttlS, waitS } from "../tool.js";

const input = z.strictObject({
  paths: keys.describe("files or folders, from the workspace root; a folder covers all in it"),
  keys: keys.describe("other names, like deploy or project:a/map:m"),
  mode: z.enum(MODES).optional().describe("default write"),
  wait_s: waitS.describe("stand in line so long; default 0"),
  ttl_s: ttlS.describe("lost after so long without any call; default 900"),
  note: z.string().max(500).optional().describe("why, for others"),
  run: run.describe('your run if you were given one; "new" if other agents share this connection'),
});

export const lockAcquire = defineTool({
  name: "lock_acquire",
  description:
    "Take locks before you write: all or none. Taken by someone else: says who and until when; then do not write.",
  purpose: "take",
  input,
  output: { grants: OWN_GRANTS, already: LIST },
  async call(args, call) {
    const wanted = wantedKeys(call.run, args);
    const mode = args.mode ?? "write";
    const held = call.run.holdings.locks.filter((grant) => wanted.includes(grant.resource) && allows(grant, mode));
    const already = held.map((grant) => grant.resource);
    const missing = wanted.filter((key) => !already.includes(key));
    const { wait_s: wait = 0, ttl_s: ttl = DEFAULT_TTL_S, note } = args;
    if (missing.length === 0) return told(held, already, ttl);
    const lease = await tellingOfTheWait(
      call,
      missing,
      wait,
      call.run.holdfast.acquire(missing, {
        mode,
        wait: wait * 1_000,
        ttl: ttl * 1_000,
        // mutant: mcp-killed: pid: process.pid, → detached: true,
        pid: process.pid,
        signal: call.signal,
        within: await call.run.holdings.presented(),
        presenting: await call.run.tokensOfHook(missing),
        metadata: { via: "mcp", ...given({ note }) },
      }),
    );
    return told([...held, ...(await call.run.holdings.add(lease, call.signal))], already, ttl);
  },
});

function allows(grant: LastingRecord, mode: string): boolean {
  return grant.mode === mode || grant.mode === "write";
}

function told(grants: readonly LastingRecord[], already: readonly string[], ttlSeconds: number): Answer {
  const own = grants.map(ownGrant);
  const lines = [
    already.length === own.length ? "You hold this already:" : "Granted:",
    ...own.map((grant) => `- ${ownLine(grant)}${already.includes(grant.key) ? ", held before" : ""}`),
    `Any call renews it; without one for ${span(ttlSeconds)} it is lost. Call lock_release when you are done, also when you fail.`,
  ];
  if (already.length > 0)
    lines.push('If another agent on this connection took it, it is not yours: ask with run "new" instead.');
  return { data: { grants: own, already }, text: lines.join("\n") };
}
