/** Names the OS user of this process. */
import { userInfo } from "node:os";

/** Returns the login name, or the number of a user that the system does not know, as there are in containers. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}
