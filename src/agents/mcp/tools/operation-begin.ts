/** The tool `operation_begin`: acquires the locks that the policy names for an operation. */
import * as z from "zod";
import { given } from "../../../base/given.js";
import type { Scope } from "../../../features/policy/decide.js";
import type { Policies } from "../../../features/policy/perform.js";
import { OWN_GRANTS, ownGrant, ownLine } from "../grants.js";
import { tellingOfTheWait } from "../run/wait-progress.js";
import { DEFAULT_TTL_S, defineTool, ttlS, waitS } from "../tool.js";

export const operationBegin = defineTool({
  name: "operation_begin",
  description:
    "Take exactly the locks the policy names for an operation; give them back with lock_release. What cannot be undone needs an approval from a person.",
  purpose: "take",
  input: z.strictObject({
    operation: z.string(),
    ids: z.record(z.string(), z.string()).optional().describe('like {"project":"a","map":"m"}'),
    objects: z.int().min(0).max(1e9).optional(),
    approval: z.string().optional().describe("token a person gave you"),
    wait_s: waitS,
    ttl_s: ttlS,
  }),
  output: { grants: OWN_GRANTS },
  async call({ operation, ids = {}, objects, approval, wait_s: wait = 0, ttl_s: ttl = DEFAULT_TTL_S }, call) {
    const { policies, holdfast, holdings } = call.run;
    const scope = { ids, ...given({ objects }) };
    const begun = policies.begin(holdfast, operation, {
      ...scope,
      ...given({ approval }),
      wait: wait * 1_000,
      ttl: ttl * 1_000,
      pid: process.pid,
      signal: call.signal,
      within: await holdings.presented(),
      metadata: { via: "mcp", operation },
    });
    const lease = await tellingOfTheWait(call, keysOf(policies, operation, scope), wait, begun);
    const grants = (await holdings.add(lease, call.signal)).map(ownGrant);
    const lines = [
      `Begin ${operation}. You hold:`,
      ...grants.map((each) => `- ${ownLine(each)}`),
      "Call lock_release at the end, also when you fail.",
    ];
    return { data: { grants }, text: lines.join("\n") };
  },
});

/** None for what the policy refuses: `begin` says so, and keeps it on record. */
function keysOf(policies: Policies, operation: string, scope: Scope): readonly string[] {
  try {
    return policies.explain(operation, scope).locks.map(({ resource }) => resource);
  } catch {
    return [];
  }
}
