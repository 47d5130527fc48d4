/**
 * Who may talk to a server on the loopback: programs of this machine. A page in a browser may not, whichever site it came
 * from: it carries an Origin, and one that points a name of its own here (DNS rebinding) carries its Host.
 */
export interface Guard {
  /** Why a request is refused, or null. */
  refusal(host: string | undefined, origin: string | undefined): string | null;
}

const NAMES = ["127.0.0.1", "localhost"];

export function createGuard(port: number): Guard {
  const hosts = new Set(NAMES.map((name) => `${name}:${port}`));
  const origins = new Set(NAMES.map((name) => `http://${name}:${port}`));
  return {
    refusal(host, origin) {
      if (host === undefined || !hosts.has(host.toLowerCase())) return "this host is not served here";
      if (origin !== undefined && !origins.has(origin)) return "this origin is not served here";
      return null;
    },
  };
}
