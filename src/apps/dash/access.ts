/**
 * Checks access to the page: the bearer of the link has it. The token in the link is accepted once and gives that
 * browser a cookie; after that there is a new link. So a link that is found later, in a history or a log, opens
 * nothing.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";

const TOKEN_BYTES = 32;
/** The first to come in is the first to be forgotten. */
const MOST_SESSIONS = 100;

export class Door {
  readonly #cookie: string;
  readonly #sessions = new Set<string>();
  #token = newSecret();

  /** A browser sends cookies to all ports of a machine: the name tells them apart. */
  constructor(port: number) {
    this.#cookie = `holdfast-dash-${port}`;
  }

  /** Good for one browser. */
  get token(): string {
    return this.#token;
  }

  /** The cookie for whoever brings the token, or null when it is not the one that opens. */
  enter(token: string): string | null {
    // mutant: dash-token: if (!isSame(token, this.#token)) return null; →
    if (!isSame(token, this.#token)) return null;
    // mutant: dash-once: this.#token = newSecret(); →
    this.#token = newSecret();
    const session = newSecret();
    const [oldest] = this.#sessions;
    if (oldest !== undefined && this.#sessions.size >= MOST_SESSIONS) this.#sessions.delete(oldest);
    this.#sessions.add(session);
    return `${this.#cookie}=${session}; HttpOnly; SameSite=Strict; Path=/`;
  }

  isInside(cookies: string | undefined): boolean {
    for (const each of (cookies ?? "").split(";")) {
      const [name, value] = each.trim().split("=", 2);
      // mutant: dash-cookie: value !== undefined && this.#sessions.has(value) → value !== undefined
      if (name === this.#cookie && value !== undefined && this.#sessions.has(value)) return true;
    }
    return false;
  }
}

function newSecret(): string {
  return randomBytes(TOKEN_BYTES).toString("base64url");
}

function isSame(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}
