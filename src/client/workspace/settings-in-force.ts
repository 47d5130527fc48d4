/** Lists the settings in force, each with its source, for `holdfast config show` and `holdfast.settings`. */
import type { FoundWorkspace, Source } from "./find-workspace.js";

interface SettingInForce {
  readonly value: unknown;
  /** `argument`, `environment`, `config`, `record`, `found` or `default`. */
  readonly source: Source;
}

/** By name: `root`, `store` (without a password), `owner`, and the fields of the configuration. */
export type SettingsInForce = Readonly<Record<string, SettingInForce>>;

/** What holds where no source says anything. Levels and profiles have the defaults of the store. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  ttl: "30s",
  wait: "5s",
  heartbeat: "10s",
  order: "free",
};

export function settingsInForce({ root, where, owner, config, sources }: FoundWorkspace): SettingsInForce {
  const settings: Record<string, SettingInForce> = {
    root: { value: root, source: sources.root ?? "default" },
    store: { value: where, source: sources.store },
    owner: { value: owner, source: sources.owner },
  };
  for (const [name, value] of Object.entries(DEFAULTS)) settings[name] = { value, source: "default" };
  for (const [name, value] of Object.entries(config)) settings[name] = { value, source: sources[name] ?? "default" };
  return settings;
}
