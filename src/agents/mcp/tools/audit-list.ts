/** The tool `audit_list`: lists the latest entries of the audit trail. */
import * as z from "zod";
import { given } from "../../../base/given.js";
import { quoted } from "../quoting.js";
import { namedKeys } from "../run/wanted-keys.js";
import { defineTool, limit, listOf, TEXT } from "../tool.js";

const DEFAULT_LIMIT = 20;

export const auditList = defineTool({
  name: "audit_list",
  description: "The last things that happened to locks: who took, lost, stole or gave back what.",
  purpose: "look",
  input: z.strictObject({ path: z.string().optional(), key: z.string().optional(), limit }),
  output: { entries: listOf({ at: TEXT, event: TEXT, key: TEXT, owner: TEXT }) },
  async call({ path, key, limit: most = DEFAULT_LIMIT }, { run }) {
    const [resource] = namedKeys(run, {
      keys: key === undefined ? [] : [key],
      paths: path === undefined ? [] : [path],
    });
    const found = await run.holdfast.audit.recent({ limit: most, ...given({ resource }) });
    const entries = found.map((entry) => ({
      at: entry.at,
      event: entry.event,
      key: entry.resource,
      owner: entry.owner,
      fencing_token: entry.fencing_token,
    }));
    const lines = entries.map((each) =>
      each.event === "damaged"
        ? `- ? damaged ${each.key}: an entry that cannot be read`
        : `- ${each.at} ${each.event} ${each.key} ${quoted(each.owner)}`,
    );
    return { data: { entries }, text: lines.length === 0 ? "Nothing has happened." : lines.join("\n") };
  },
});
