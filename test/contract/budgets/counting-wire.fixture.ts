/**
 * A wire to the socket of a PostgreSQL server that counts what clients send over it. The bytes go on only once they are
 * counted, so a client that has its answer has been counted.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";

interface WireCounts {
  /** Messages after which the server says that it is ready: a connection's first one, a simple query, a Sync. */
  readonly roundTrips: number;
  /** Statements that the server is to run; a simple query counts as one. */
  readonly statements: number;
}

interface CountingWire extends AsyncDisposable {
  readonly port: number;
  counts(): WireCounts;
}

/** The length in front of a message counts itself, but not the letter of its type. */
const LENGTH_BYTES = 4;

export async function openCountingWire(socketFolder: string): Promise<CountingWire> {
  let [roundTrips, statements] = [0, 0];
  const sockets = new Set<Socket>();
  const saw = (type: string): void => {
    if (type === "startup" || type === "Q" || type === "S") roundTrips += 1;
    if (type === "Q" || type === "E") statements += 1;
  };
  const server = createServer((client) => {
    const upstream = connect(join(socketFolder, ".s.PGSQL.5432"));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
    }
    const read = messagesReader(saw);
    client.on("data", (bytes) => {
      read(bytes);
      upstream.write(bytes);
    });
    upstream.pipe(client);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    counts: () => ({ roundTrips, statements }),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Cuts what a client sends into messages, and tells the type of each; the first one has no letter. */
function messagesReader(saw: (type: string) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStarted = false;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const typeBytes = isStarted ? 1 : 0;
      if (rest.length < typeBytes + LENGTH_BYTES) return;
      const length = typeBytes + rest.readUInt32BE(typeBytes);
      if (rest.length < length) return;
      saw(isStarted ? rest.toString("latin1", 0, 1) : "startup");
      isStarted = true;
      rest = rest.subarray(length);
    }
  };
}
