/** Programs that wait for each other in a circle, and programs that only look like it. Real processes, on every store. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openHoldfast, type WaitCircle } from "../../../dist/index.js";
import { PATIENTLY } from "../../fixtures/client/processes.fixture.js";
import { sharedServer } from "../../fixtures/postgres/server.fixture.js";
import { newPostgresStore } from "../../fixtures/postgres/stores.fixture.js";

const PROGRAM = fileURLToPath(new URL("../../fixtures/client/tasks-process.fixture.mjs", import.meta.url));
const STORES = ["memory", "file", "sqlite", "postgres"];

interface Said {
  readonly owner: string;
  readonly key: string;
  readonly code: string | null;
  readonly ms: number;
  readonly message?: string;
  readonly next?: readonly string[];
  readonly retryable?: boolean;
  readonly details?: { readonly circle?: WaitCircle; readonly contention?: { readonly resource: string } };
  readonly warning?: string;
}

let dir: string;
let children: ChildProcess[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "holdfast-circles-"));
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
});

/** Makes the store, so that no program of a test has to. */
async function newStore(kind: string): Promise<string> {
  if (kind === "postgres") return newPostgresStore(await sharedServer());
  if (kind === "memory") return "memory:circles";
  const store = kind === "file" ? `file:${join(dir, "store")}` : `sqlite:${join(dir, "locks.db")}`;
  await (await openHoldfast({ store, owner: "user:test" })).close();
  return store;
}

/** Programs of one instance each, by name, in processes of their own; in memory they are instances of one process. */
type Programs = Readonly<Record<string, readonly string[]>>;

async function run(kind: string, programs: Programs, wait = "20s"): Promise<Said[]> {
  const store = await newStore(kind);
  const all = Object.entries(programs).map(([name, tasks]) => ({ owner: `agent:${name}`, tasks }));
  const processes = kind === "memory" ? [all] : all.map((instance) => [instance]);
  const said = await Promise.all(
    processes.map(async (instances) => {
      const input = JSON.stringify({ options: { store, wait }, folder: dir, instances });
      const child = spawn(process.execPath, [PROGRAM, input], { stdio: ["pipe", "pipe", "inherit"] });
      children.push(child);
      let text = "";
      child.stdout.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      await once(child, "close");
      return text;
    }),
  );
  const lines = said.flatMap((text) => text.split("\n")).filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Said);
}

const refused = (said: readonly Said[]): Said[] => said.filter(({ code }) => typeof code === "string");

describe.each(STORES)("programs that wait for each other (%s)", PATIENTLY, (kind) => {
  it("one of two is refused within two seconds, and the other goes on", async () => {
    const said = await run(kind, {
      one: ["acquire k1, meet 2, acquire k2"],
      two: ["acquire k2, meet 2, acquire k1"],
    });
    const [one, ...others] = refused(said);
    expect(others).toEqual([]);
    const held = one?.key === "k1" ? "k2" : "k1";
    expect(one).toMatchObject({
      code: "E_LOCK_ORDER",
      retryable: false,
      next: [expect.stringContaining(`acquire(["${held}", "${one?.key}"])`)],
      details: { contention: { resource: one?.key } },
    });
    expect(one?.ms).toBeLessThan(2_000);
    const circle = one?.details?.circle?.map(({ holds, waits_for }) => [holds.resource, waits_for]);
    expect(circle).toEqual([
      [held, one?.key],
      [one?.key, held],
    ]);
    expect(said.filter(({ code }) => code === null)).toHaveLength(3);
  });

  it("one of three is refused, and the two others go on", async () => {
    const said = await run(kind, {
      one: ["acquire k1, meet 3, acquire k2"],
      two: ["acquire k2, meet 3, acquire k3"],
      three: ["acquire k3, meet 3, acquire k1"],
    });
    expect(refused(said).map(({ code, details }) => [code, details?.circle?.length])).toEqual([["E_LOCK_ORDER", 3]]);
    expect(said.filter(({ code }) => code === null)).toHaveLength(5);
  });

  // kills: circle-oldest (sqlite)
  it("the youngest is refused when the circle goes through a key that was handed over", async () => {
    const said = await run(kind, {
      first: ["acquire k, meet 3, sleep 700, release"],
      heir: ["meet 3, acquire k, acquire b"],
      last: ["acquire b, meet 3, sleep 1200, acquire k"],
    });
    expect(refused(said).map(({ code, owner }) => [code, owner])).toEqual([["E_LOCK_ORDER", "agent:last"]]);
  });

  // kills: circle-busy-process (sqlite)
  it("servers are not refused while one task holds a key and another task waits", async () => {
    const said = await run(kind, {
      one: ["acquire u1, meet 4, sleep 4000", "meet 4, acquire u2"],
      two: ["acquire u2, meet 4, sleep 4000", "meet 4, acquire u1"],
    });
    expect([refused(said), said.length]).toEqual([[], 4]);
  });

  it("a program is not refused while the server works that holds its key and waits for it", async () => {
    const said = await run(kind, {
      script: ["acquire a, meet 3, acquire u"],
      server: ["acquire u, meet 3, sleep 4000", "meet 3, acquire a"],
    });
    expect([refused(said), said.length]).toEqual([[], 4]);
  });
});

describe("programs that wait for each other", PATIENTLY, () => {
  it("are not refused while a child process of one works under the lock", async () => {
    const running = run("sqlite", {
      one: ["acquire u1, meet 4, child", "meet 4, acquire u2"],
      two: ["acquire u2, meet 4, child", "meet 4, acquire u1"],
    });
    await sleep(5_000);
    writeFileSync(join(dir, "done"), "");
    const said = await running;
    expect([refused(said), said.length]).toEqual([[], 4]);
  });

  // kills: circle-thread-computes (compute)
  it.each(["compute", "thread"])("are not refused while a thread of one works under the lock: %s", async (step) => {
    const running = run("sqlite", {
      server: [`acquire u1, meet 3, ${step}`, "meet 3, acquire u2"],
      script: ["acquire u2, meet 3, sleep 300, acquire u1"],
    });
    await sleep(5_000);
    writeFileSync(join(dir, "done"), "");
    const said = await running;
    expect([refused(said), said.length]).toEqual([[], 4]);
  });

  // kills: circle-local-socket
  it("are not refused while one talks with a server through a local socket under the lock", async () => {
    const server = createServer();
    server.listen(join(dir, "server"));
    const connected = once(server, "connection") as Promise<[Socket]>;
    const running = run("sqlite", {
      server: ["acquire u1, meet 3, connection", "meet 3, acquire u2"],
      script: ["acquire u2, meet 3, sleep 300, acquire u1"],
    });
    const [socket] = await connected;
    await sleep(4_500);
    socket.end();
    server.close();
    const said = await running;
    expect([refused(said), said.length]).toEqual([[], 4]);
  });

  // kills: circle-other-instance
  it("are not refused while another instance of one waits for a key that will be free", async () => {
    const said = await run("sqlite", {
      busy: ["acquire x, meet 4, sleep 4000"],
      server: ["acquire u1, meet 4, elsewhere x", "meet 4, acquire u2"],
      script: ["acquire u2, meet 4, sleep 300, acquire u1"],
    });
    expect([refused(said), said.length]).toEqual([[], 5]);
  });

  // kills: circle-moved
  it("are not refused while another task of one waits for a key that will be free", async () => {
    const said = await run("sqlite", {
      busy: ["acquire x, meet 4, sleep 4000"],
      server: ["acquire u1, meet 4, acquire x", "meet 4, acquire u2"],
      script: ["acquire u2, meet 4, sleep 300, acquire u1"],
    });
    expect([refused(said), said.length]).toEqual([[], 6]);
  });

  // kills: circle-note-stays
  it("are not refused once another task of one goes on", async () => {
    const running = run("sqlite", {
      busy: ["acquire x, meet 4, sleep 9000"],
      server: ["acquire u1, meet 4, input, acquire x", "meet 4, acquire u2"],
      script: ["acquire u2, meet 4, sleep 5000, acquire u1"],
    });
    await sleep(4_500);
    for (const child of children) child.stdin?.write("go on\n");
    const said = await running;
    expect([refused(said), said.length]).toEqual([[], 6]);
  });

  // kills: own-wait-of-others
  it("a program that waits for another one as well is not warned of waiting for itself", async () => {
    const said = await run(
      "sqlite",
      { self: ["acquire k read, meet 2, acquire k"], other: ["acquire k read, meet 2, sleep 4000"] },
      "2s",
    );
    expect(said.filter(({ warning }) => warning === "HOLDFAST_OWN_WAIT")).toEqual([]);
    expect(refused(said)).toMatchObject([{ code: "E_LOCK_TIMEOUT", details: { contention: { queue_length: 0 } } }]);
    expect(refused(said)[0]?.details).not.toHaveProperty("own_holder");
  });

  it("a program that waits for itself is warned once, and told at the end that it holds the key", async () => {
    const said = await run("sqlite", { self: ["acquire k, acquire k"] }, "2s");
    expect(said.filter(({ warning }) => warning === "HOLDFAST_OWN_WAIT")).toHaveLength(1);
    expect(refused(said)).toEqual([
      expect.objectContaining({
        code: "E_LOCK_TIMEOUT",
        message: expect.stringContaining("that is this Holdfast instance itself"),
        details: expect.objectContaining({ own_holder: "instance" }),
        next: expect.arrayContaining([expect.stringContaining("lease.acquire")]),
      }),
    ]);
  });
});
