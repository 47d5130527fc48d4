/** Shows the root, store, owner and configuration in force, and the source of each. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { withoutPassword } from "../../../base/without-password.js";
import { CONFIG_FILE } from "../../../client/workspace/config.js";
import type { Workspace } from "../../../features/configuration.js";
import type { Outcome } from "../command.js";
import { columns } from "../output/text.js";

export function showConfig({ root, where: store, owner, config: stated, sources }: Workspace): Outcome {
  const config = stated.store === undefined ? stated : { ...stated, store: withoutPassword(stated.store) };
  const file = root === null ? null : join(root, CONFIG_FILE);
  return {
    data: { root, store, owner, config_file: file, config, sources },
    text: (screen) => {
      const rows: [string, string][] = [
        ["root", `${root ?? "none"}${sources.root === null ? "" : ` (${sources.root})`}`],
        ["store", `${store} (${sources.store})`],
        ["owner", `${owner} (${sources.owner})`],
        ["config", file === null ? "none" : existsSync(file) ? file : `${file} (not there)`],
      ];
      for (const [field, value] of Object.entries(config)) rows.push([`  ${field}`, JSON.stringify(value)]);
      return columns(rows, screen.width);
    },
  };
}
