/**
 * Refuses a URL that the driver would misread: several hosts, parameters that it ignores, and modes of TLS that it does
 * not have. Called before the first connection to a URL, and before a migration. Psql accepts such URLs; here they would
 * lead to another server, or to none.
 */
import { HoldfastError } from "../../../base/errors.js";
import { withoutPassword } from "../../../base/without-password.js";

const TLS_MODES = ["disable", "require", "verify-ca", "verify-full", "no-verify"];
const IGNORED = ["target_session_attrs", "load_balance_hosts", "service", "hostaddr"];

export function assertSupportedUrl(url: string): void {
  const [, authority = "", query = ""] = /^[a-z+]+:\/\/([^/?#]*)[^?#]*\??([^#]*)/i.exec(url) ?? [];
  const parameters = new URLSearchParams(query);
  const hosts = parameters.get("host") ?? authority.slice(authority.lastIndexOf("@") + 1);
  // mutant: postgres-several-hosts: hosts.includes(",") → hosts === ""
  if (hosts.includes(","))
    throw refused(url, "several hosts in one URL are not supported", [
      "Name one host that leads to the primary: a virtual address, a name in DNS or a proxy.",
    ]);
  const ignored = IGNORED.find((name) => parameters.has(name));
  if (ignored !== undefined)
    throw refused(url, `${ignored} is not supported`, [
      "Leave it out, and name the host and the user in the URL itself.",
    ]);
  const mode = parameters.get("sslmode");
  if (mode !== null && !TLS_MODES.includes(mode))
    throw refused(url, `sslmode=${mode} is not supported`, [
      `Use one of ${TLS_MODES.join(", ")}. Without sslmode the connection is not encrypted.`,
    ]);
  try {
    new URL(url, "postgres://base");
  } catch {
    // A socket's folder may stand in the place of the host: %2Frun%2Fpostgresql.
    if (!/@\//.test(url)) throw refused(url, "the URL cannot be read", ["postgres://USER@HOST:PORT/DATABASE"]);
  }
}

function refused(url: string, why: string, next: readonly string[]): HoldfastError {
  return new HoldfastError("E_CONFIG", `${withoutPassword(url)}: ${why}`, { reason: "invalid_store_url", next });
}
