/** A wire to a server's socket that breaks at the next COMMIT: before the server hears it, or before its answer is heard. */
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";

export interface CommitWire extends AsyncDisposable {
  readonly port: number;
  /** From the next COMMIT on that connection is broken. The one after is whole. */
  loseNext(what: "request" | "answer"): void;
  /** How many were lost. */
  readonly lost: number;
}

const COMMIT = Buffer.from("COMMIT\0");

export async function openCommitWire(socketFolder: string): Promise<CommitWire> {
  let next: "request" | "answer" | null = null;
  let lost = 0;
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((client) => {
    const upstream = connect(join(socketFolder, ".s.PGSQL.5432"));
    const cut = (): void => {
      lost += 1;
      client.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
    }
    let isDeaf = false;
    client.on("data", (bytes) => {
      const isCommit = next !== null && bytes.includes(COMMIT);
      if (isCommit && next === "request") {
        next = null;
        cut();
        return;
      }
      if (isCommit) isDeaf = true;
      if (isCommit) next = null;
      upstream.write(bytes);
    });
    upstream.on("data", (bytes) => (isDeaf ? cut() : client.write(bytes)));
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    loseNext(what) {
      next = what;
    },
    get lost() {
      return lost;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
