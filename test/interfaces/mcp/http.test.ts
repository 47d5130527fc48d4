/** MCP-1: the server over HTTP on the loopback, to official clients of both revisions. */
import { request } from "node:http";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Runs } from "../../../src/agents/mcp/run/runs.js";
import { type HttpFace, serveHttp } from "../../../src/agents/mcp/serve/serve-http.js";
import { PATIENTLY, type Revision, Scene } from "./mcp.fixture.js";

let scene: Scene;
let runs: Runs;
let face: HttpFace;

beforeEach(async () => {
  scene = new Scene();
  runs = scene.runs(false);
  face = await serveHttp(runs, 0, () => undefined);
});
afterEach(async () => {
  await scene.close();
  await face.close();
});

/** The status a request with these headers gets. */
function status(headers: Record<string, string>, path = "/mcp", method = "POST"): Promise<number | undefined> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const usual = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, face.url), { method, headers: { ...usual, ...headers } }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    sent.once("error", reject).end(method === "POST" ? body : undefined);
  });
}

/** The first line of the answer to a request as these bytes, which no client would send. */
function answerTo(target: string): Promise<string> {
  const { hostname, host, port } = new URL(face.url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    );
    socket.once("data", (bytes) => resolve(String(bytes).split("\r\n", 1)[0] ?? "")).once("error", reject);
  });
}

describe("MCP-1: over HTTP", () => {
  it.each<Revision>(["2025-11-25", "2026-07-28"])(
    "agents of revision %s are told apart by their runs",
    async (revision) => {
      const [one, two] = [await scene.http(face.url, "one", revision), await scene.http(face.url, "two", revision)];
      expect(one.client.getNegotiatedProtocolVersion()).toBe(revision);
      expect((await one.client.listTools()).tools).toHaveLength(14);
      const { run } = await one.data("lock_acquire", { paths: ["a.ts"] });
      expect(run).toMatch(/^run-[0-9a-f]{24}$/);
      expect(await two.refusal("lock_acquire", { paths: ["a.ts"] })).toBe("E_LOCK_CONFLICT");
      expect(await two.refusal("lock_release", { paths: ["a.ts"] })).toBe("E_INVALID_ARGUMENT");
      expect(await two.refusal("lock_release", { run: "run-of-nobody" })).toBe("E_NOT_FOUND");
      expect(await one.data("lock_acquire", { paths: ["a.ts", "b.ts"], run })).toMatchObject({
        already: ["path/a.ts"],
      });
      expect((await one.data("lock_release", { run })).released).toHaveLength(2);
      expect(await two.data("lock_acquire", { paths: ["a.ts"] })).toMatchObject({ ok: true });
    },
  );

  it.each<Revision>(["2025-11-25", "2026-07-28"])("waits with progress in revision %s", async (revision) => {
    const [one, two] = [await scene.http(face.url, "one", revision), await scene.http(face.url, "two", revision)];
    const { run } = await one.data("lock_acquire", { keys: ["deploy"] });
    let released: Promise<Record<string, unknown>> | undefined;
    const onprogress = () => {
      released ??= one.data("lock_release", { run });
    };
    const { data } = await two.call("lock_acquire", { keys: ["deploy"], wait_s: 50 }, { onprogress });
    expect(data.ok).toBe(true);
    expect((await released)?.released).toHaveLength(1);
  });

  // kills: mcp-gone
  it("a client that goes while it waits leaves the line, and leaves nothing locked", async () => {
    const [one, two] = [
      await scene.http(face.url, "one", "2026-07-28"),
      await scene.http(face.url, "two", "2026-07-28"),
    ];
    const { run } = await one.data("lock_acquire", { keys: ["deploy"] });
    const waiting = two.call("lock_acquire", { keys: ["deploy"], wait_s: 50 }).catch(() => undefined);
    const line = async () => (await one.data("lock_status", { key: "deploy" })).waiters.length;
    await expect.poll(line, PATIENTLY).toBe(1);
    await two.client.close();
    await waiting;
    // Sooner than its wait would end by itself.
    await expect.poll(line, { ...PATIENTLY, timeout: 30_000 }).toBe(0);
    await one.data("lock_release", { run });
    expect((await one.data("lock_list")).locks).toEqual([]);
  });

  // kills: mcp-given-back
  it("gives everything back when it stops", async () => {
    const library = await scene.library("user:ann");
    const one = await scene.http(face.url, "one", "2025-11-25");
    await one.data("issue_add", { title: "first" });
    await one.data("lock_acquire", { paths: ["a.ts"] });
    await one.data("issue_claim");
    expect(await library.list()).toHaveLength(2);
    await face.close();
    expect(await library.list()).toHaveLength(0);
  });

  // kills: mcp-host, mcp-origin
  it("serves only requests for this host, and of no page but its own", async () => {
    const { host, port } = new URL(face.url);
    expect(await status({})).toBe(200);
    expect(await status({ host: `localhost:${port}` })).toBe(200);
    expect(await status({ origin: `http://${host}` })).toBe(200);
    for (const bad of [
      "evil.example",
      `evil.example:${port}`,
      "127.0.0.1",
      "127.0.0.1:1",
      `127.0.0.1.evil.example:${port}`,
    ])
      expect([bad, await status({ host: bad })]).toEqual([bad, 403]);
    for (const bad of ["http://evil.example", "null", "http://localhost", "http://localhost:1", `https://${host}`, ""])
      expect([bad, await status({ origin: bad })]).toEqual([bad, 403]);
    expect(await status({ host: "evil.example" }, "/mcp", "GET")).toBe(403);
    expect(await status({}, "/")).toBe(404);
    expect(await status({}, "/mcp", "TRACE")).toBe(405);
  });

  it("STALE-8: a clock that is set ends no run, and what it holds stays", async () => {
    const [one, two] = [
      await scene.http(face.url, "one", "2026-07-28"),
      await scene.http(face.url, "two", "2026-07-28"),
    ];
    const { run } = await one.data("lock_acquire", { paths: ["a.ts"] });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 24 * 3_600_000 });
    try {
      expect((await two.data("lock_status", { path: "a.ts" })).holders).toHaveLength(1);
      expect((await one.data("lock_status", { path: "a.ts", run })).holders).toHaveLength(1);
      expect((await one.data("lock_release", { run })).released).toEqual(["path/a.ts"]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("goes on when it is asked for what makes no URL: a picture on any page could ask", async () => {
    const one = await scene.http(face.url, "one", "2026-07-28");
    const { run } = await one.data("lock_acquire", { paths: ["a.ts"] });
    for (const target of ["//", "http://", "/mcp//", "*"]) expect(await answerTo(target)).toMatch(/^HTTP\/1.1 40[04] /);
    expect((await one.data("lock_release", { run })).released).toHaveLength(1);
  });
});
