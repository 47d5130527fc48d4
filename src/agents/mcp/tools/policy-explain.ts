/** The tool `policy_explain`: lists the locks that an operation needs, and acquires none. */
import * as z from "zod";
import { given } from "../../../base/given.js";
import { quoted } from "../quoting.js";
import { defineTool, FLAG, listOf, TEXT } from "../tool.js";

export const policyExplain = defineTool({
  name: "policy_explain",
  description: "Which locks an operation needs; without one, all operations. Takes nothing.",
  purpose: "look",
  input: z.strictObject({
    operation: z.string().optional(),
    ids: z.record(z.string(), z.string()).optional(),
    objects: z.int().min(0).max(1e9).optional(),
  }),
  output: {
    operations: listOf({ operation: TEXT, about: TEXT }),
    locks: listOf({ key: TEXT, mode: TEXT }),
    needs_approval: FLAG,
  },
  async call({ operation, ids = {}, objects }, { run: { policies } }) {
    if (operation === undefined) {
      const operations = Object.entries(policies.operations).map(([name, { about }]) => ({ operation: name, about }));
      const lines = operations.map((each) => `- ${quoted(each.operation)}: ${quoted(each.about)}`);
      return { data: { operations }, text: lines.join("\n") };
    }
    const needed = policies.explain(operation, { ids, ...given({ objects }) });
    const locks = needed.locks.map(({ resource, mode }) => ({ key: resource, mode }));
    const lines = [
      `${operation} needs:`,
      ...locks.map(({ key, mode }) => `- ${key} (${mode})`),
      needed.needsApproval
        ? "It cannot be undone: a person has to approve it first."
        : "Take them with operation_begin.",
    ];
    return { data: { locks, needs_approval: needed.needsApproval }, text: lines.join("\n") };
  },
});
