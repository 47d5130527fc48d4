/** The only place that knows the stores by name. Each is loaded when it is asked for, so none costs the others. */
import type { Settings } from "../lock/settings.js";
import type { Clock } from "../support/clock.js";
import { HoldfastError } from "../support/errors.js";
import type { Store } from "./contract.js";

/** `memory:NAME`, `file:DIR` or `sqlite:PATH`. `E_CONFIG` for anything else, and when settings disagree. */
export async function openStore(url: string, stated: Partial<Settings>, clock: Clock): Promise<Store> {
  const [, scheme, place = ""] = /^([a-z]+):(.*)$/s.exec(url) ?? [];
  switch (scheme) {
    case "memory": {
      const { openMemoryStore } = await import("./memory/open.js");
      return openMemoryStore(url, stated, clock);
    }
    case "file": {
      const { openFileStore } = await import("./file/open.js");
      return openFileStore(place, stated, clock);
    }
    case "sqlite": {
      const { openSqliteStore } = await import("./sqlite/open.js");
      return openSqliteStore(place, stated, clock);
    }
    default:
      throw new HoldfastError("E_CONFIG", `there is no store ${JSON.stringify(url)}`, {
        next: ["Use sqlite:PATH, file:DIR or memory:NAME."],
      });
  }
}
