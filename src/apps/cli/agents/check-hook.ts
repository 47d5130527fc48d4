/**
 * `holdfast hook check`: answers the hook of an agent tool. It starts before every write of an agent, so it loads
 * little.
 */
import type { AgentClient } from "../../../agents/hooks/call.js";
import { checkHook } from "../../../agents/hooks/check.js";
import type { ContextWith, Outcome } from "../command.js";
import { readIn } from "../output/standard-streams.js";

interface HookFlags {
  readonly ttl: string | undefined;
  readonly wait: string | undefined;
}

export async function checkWrite({ flags, env, cwd }: ContextWith<HookFlags>, client: AgentClient): Promise<Outcome> {
  const { root, store, ttl, wait } = flags;
  const { stdout, stderr, exit, moment, refusal } = await checkHook({
    client,
    input: readIn(),
    env,
    cwd,
    root,
    store,
    ttl,
    wait,
  });
  const decision = refusal === null || moment !== "before" ? "allow" : "deny";
  return {
    data: { client, moment, decision, reason: refusal },
    text: () => stdout,
    ...(stderr === "" ? {} : { notes: [stderr.trimEnd()] }),
    exit,
  };
}
