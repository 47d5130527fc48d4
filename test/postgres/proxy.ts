/** A wire to a server's socket that can be cut in one direction or in both. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

export interface Proxy {
  readonly port: number;
  /** From now on nothing comes back from the server, though it still hears everything. */
  muteServer(): void;
  /** Breaks every connection; new ones are whole again. */
  breakAll(): void;
  /** Refuses new connections, and breaks those there are. */
  close(): Promise<void>;
}

export async function openProxy(socketFolder: string): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const muted = new WeakSet<Socket>();
  const server = createServer((client) => {
    const upstream = connect(join(socketFolder, ".s.PGSQL.5432"));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
    }
    client.pipe(upstream);
    upstream.on("data", (bytes) => {
      if (!muted.has(upstream)) client.write(bytes);
    });
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    port: (server.address() as AddressInfo).port,
    muteServer: () => {
      for (const socket of sockets) muted.add(socket);
    },
    breakAll,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        breakAll();
      }),
  };
}
