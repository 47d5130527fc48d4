/** `holdfast hook check CLIENT`: what a client runs before an agent writes. Starts before every write, so it loads little. */
import type { AgentClient, Client } from "../../hooks/call.js";
import { checkHook } from "../../hooks/check.js";
import type { Context, Outcome } from "../context.js";
import { readIn } from "../standard-streams.js";

export async function run(context: Context): Promise<Outcome> {
  const client = context.arg("CLIENT") as Client;
  if (client === "git") return (await import("../git-check.js")).gitCheck(context);
  const { flags, env, cwd } = context;
  const { stdout, stderr, exit, moment, refusal } = await checkHook({
    client: client as AgentClient,
    input: readIn(),
    env,
    cwd,
    root: flags.text("root"),
    store: flags.text("store"),
    ttl: flags.text("ttl"),
    wait: flags.text("wait"),
  });
  const decision = refusal === null || moment !== "before" ? "allow" : "deny";
  return {
    data: { client, moment, decision, reason: refusal },
    text: () => stdout,
    ...(stderr === "" ? {} : { notes: [stderr.trimEnd()] }),
    exit,
  };
}
