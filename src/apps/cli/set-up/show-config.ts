/** Shows the settings in force, and the source of each. */
import { join } from "node:path";
import { CONFIG_FILE } from "../../../client/workspace/config.js";
import { settingsInForce } from "../../../client/workspace/settings-in-force.js";
import type { Workspace } from "../../../features/configuration.js";
import { isThere } from "../../../platform/look-up.js";
import type { Outcome } from "../command.js";
import { columns } from "../output/text.js";

export function showConfig(workspace: Workspace): Outcome {
  const { root, where: store, owner, notes } = workspace;
  const settings = settingsInForce(workspace);
  const file = root === null ? null : join(root, CONFIG_FILE);
  return {
    data: { root, store, owner, config_file: file, settings, notes },
    notes,
    text: (screen) => {
      const rows = Object.entries(settings).map(([name, { value, source }]): [string, string] => [
        name,
        `${shown(value)} (${source})`,
      ]);
      rows.push(["file", file === null ? "none" : isThere(file) ? file : `${file} (not there)`]);
      return columns(rows, screen.width);
    },
  };
}

function shown(value: unknown): string {
  if (value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
