/** DASH-1: who may look at the page, and who may do something with it. */
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Door } from "../../../src/apps/dash/access.js";
import { createLoopbackGuard, listenOnLoopback } from "../../../src/platform/loopback.js";
import { Scene } from "../../fixtures/dash/dash.fixture.js";

const EVERYTHING = ["/", "/page.js", "/page.css", "/api/about", "/api/locks", "/api/audit"];

describe("DASH-1: the door", () => {
  // kills: dash-door, dash-token
  it("without the link nothing is shown", async () => {
    await using scene = await Scene.open();
    for (const path of EVERYTHING) expect((await scene.ask(path)).status).toBe(401);
    for (const token of ["", "x", "A".repeat(43)]) expect((await scene.ask(`/?token=${token}`)).status).toBe(403);
    expect((await scene.ask("/api/locks", { headers: { cookie: "holdfast-dash-1=x; a" } })).status).toBe(401);
  });

  // kills: dash-once
  it("the link opens once, and then there is another", async () => {
    await using scene = await Scene.open();
    const { link } = scene.dash;
    const first = await scene.ask(link);
    expect(first.status).toBe(303);
    expect(first.headers.location).toBe("/");
    expect(String(first.headers["set-cookie"])).toMatch(
      /^holdfast-dash-\d+=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/$/,
    );
    expect((await scene.ask(link)).status).toBe(403);
    expect(scene.links).toEqual([scene.dash.link]);
    expect(scene.dash.link).not.toBe(link);
    await scene.enter();
    for (const path of EVERYTHING) expect((await scene.ask(path)).status).toBe(200);
  });

  // kills: dash-preview
  it.each(["HEAD", "POST", "PUT", "OPTIONS"])("a link that is only tried with %s is not used up", async (method) => {
    await using scene = await Scene.open();
    const { link } = scene.dash;
    expect((await scene.ask(link, { method })).status).toBe(405);
    expect([scene.dash.link, scene.links]).toEqual([link, []]);
    expect((await scene.ask(link)).status).toBe(303);
  });

  // kills: dash-cookie
  it("a browser that was let in stays in while others come", () => {
    const door = new Door(1);
    const cookieOf = (): string => (door.enter(door.token) ?? "").split(";", 1)[0] ?? "";
    const cookies = Array.from({ length: 100 }, cookieOf);
    expect(cookies.every((cookie) => door.isInside(`other=1; ${cookie}`))).toBe(true);
    expect(new Door(1).isInside(cookies[0])).toBe(false);
    cookieOf();
    expect(door.isInside(cookies[0])).toBe(false);
    expect(door.isInside(cookies[1])).toBe(true);
  });

  // kills: dash-host
  it("serves only requests for this host, and to no other page", async () => {
    await using scene = await (await Scene.open()).enter();
    expect((await scene.ask("/", { headers: { host: "evil.example:80" } })).status).toBe(403);
    expect((await scene.ask("/api/locks", { headers: { origin: "http://evil.example" } })).status).toBe(403);
    const { headers } = await scene.ask("/");
    expect(headers["content-security-policy"]).toContain("default-src 'none'");
    expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect(headers["cache-control"]).toBe("no-store");
    expect(headers["referrer-policy"]).toBe("no-referrer");
  });

  it.each(["/api/nothing", "/api/", "/api/actions/", "//", "/../package.json", "/api/__proto__", "/api/constructor"])(
    "%s is not there",
    async (path) => {
      await using scene = await (await Scene.open()).enter();
      const { status } = await scene.ask(`${scene.origin}${path}`);
      expect([404, 405]).toContain(status);
      expect(scene.errors).toEqual([]);
    },
  );
});

describe("DASH-1: what comes over the wire", () => {
  it("an order that is too long is told so, whoever breaks one off is no error", async () => {
    await using scene = await (await Scene.open({ allowsActions: true })).enter();
    const { status, text } = await scene.act("break", "x".repeat(5_000_000));
    expect([status, JSON.parse(text).error.code]).toEqual([400, "E_INVALID_ARGUMENT"]);
    await scene.breakOff("/api/actions/break");
    expect((await scene.ask("/api/about")).status).toBe(200);
    expect(scene.errors).toEqual([]);
  });

  it("whoever opens connections without end takes only so many, and gives them back", async () => {
    await using scene = await (await Scene.open()).enter();
    const { hostname, port } = new URL(scene.origin);
    const sockets = await connectMany(1_200, Number(port), hostname);
    try {
      await expect.poll(() => sockets.filter(({ closed }) => closed).length).toBeGreaterThan(100);
      expect(sockets.filter(({ closed }) => closed).length).toBeLessThan(400);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    const status = (): Promise<number> =>
      scene.ask("/api/about").then(
        (reply) => reply.status,
        () => 0,
      );
    await expect.poll(status).toBe(200);
  });

  it("whoever is refused keeps no connection", async () => {
    await using scene = await Scene.open();
    const refusals = [
      await scene.ask("/"),
      await scene.ask("/?token=x"),
      await scene.ask("/", { headers: { host: "evil.example" } }),
    ];
    for (const { headers } of refusals) expect(headers.connection).toBe("close");
    await scene.enter();
    expect((await scene.ask("/api/about")).headers.connection).toBe("keep-alive");
  });

  it("a file of the page that is gone is told", async () => {
    await using scene = await (await Scene.open({ page: new URL("file:///nowhere/") })).enter();
    const { status, text } = await scene.ask("/page.js");
    expect(status).toBe(500);
    expect(JSON.parse(text).error).toMatchObject({ code: "E_IO", message: "cannot read /nowhere/page.js: ENOENT" });
  });

  it("a port that is taken is told with what to do", async () => {
    await using scene = await Scene.open();
    const port = Number(new URL(scene.origin).port);
    await expect(listenOnLoopback(createServer(), port)).rejects.toMatchObject({
      code: "E_IO",
      message: `port ${port} is taken`,
      next: ["Choose another: --port 0 takes any that is free."],
    });
  });

  it("on the port that browsers leave out of an address too", () => {
    const guard = createLoopbackGuard(80);
    expect(guard.refusal("127.0.0.1", "http://127.0.0.1")).toBeNull();
    expect(guard.refusal("localhost:80", undefined)).toBeNull();
    expect(guard.refusal("evil.example", undefined)).not.toBeNull();
    expect(createLoopbackGuard(81).refusal("127.0.0.1", undefined)).not.toBeNull();
  });
});

/** One after the other: the kernel drops what comes faster than it is accepted, and that comes back only after a second. */
async function connectMany(count: number, port: number, hostname: string): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const socket = connect(port, hostname).on("error", () => undefined);
    sockets.push(socket);
    await once(socket, "connect");
  }
  return sockets;
}

describe("DASH-1: actions", () => {
  // kills: dash-reads-only
  it("a page that only looks does nothing", async () => {
    await using scene = await (await Scene.open()).enter();
    await using _lease = await scene.holdfast.acquire("a");
    const { status, text } = await scene.act("break", { key: "a", reason: "because" });
    expect(status).toBe(403);
    expect(JSON.parse(text).error).toMatchObject({ code: "E_FORBIDDEN", next: ["holdfast dash --allow-actions"] });
    expect((await scene.look("locks")).locks).toHaveLength(1);
  });

  it("breaks with a reason, as whom it was started by, and what is shown then is what is there", async () => {
    await using scene = await (await Scene.open({ allowsActions: true })).enter();
    await scene.holdfast.acquire("a");
    expect((await scene.look("locks")).locks).toHaveLength(1);
    expect(JSON.parse((await scene.act("break", { key: "a", reason: " " })).text).error.code).toBe(
      "E_INVALID_ARGUMENT",
    );
    const { text } = await scene.act("break", { key: "a", reason: "it hangs" });
    expect(JSON.parse(text).done).toBe("Broke a, which user:ann held.");
    expect((await scene.look("locks")).locks).toEqual([]);
    const { entries } = await scene.look("audit?event=broken");
    expect(entries).toMatchObject([{ resource: "a", owner: "user:ann", details: { reason: "it hangs" } }]);
    expect((await scene.act("break", { key: "a", reason: "again" })).status).toBe(404);
  });

  it("an agent's page breaks nothing", async () => {
    await using scene = await (await Scene.open({ allowsActions: true, owner: "agent:a" })).enter();
    await using _lease = await scene.holdfast.acquire("a");
    expect((await scene.act("break", { key: "a", reason: "because" })).status).toBe(403);
    expect(JSON.parse((await scene.act("recover", { key: "a" })).text).done).toMatch(/its holders are alive/);
  });

  // kills: dash-order-origin, dash-order-type
  it("takes orders from the page alone", async () => {
    await using scene = await (await Scene.open({ allowsActions: true })).enter();
    await using _lease = await scene.holdfast.acquire("a");
    const given = { key: "a", reason: "because" };
    expect((await scene.act("break", given, { origin: "http://evil.example" })).status).toBe(403);
    expect((await scene.act("break", given, { "content-type": "text/plain" })).status).toBe(403);
    const noOrigin = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(given) };
    expect((await scene.ask("/api/actions/break", noOrigin)).status).toBe(403);
    expect((await scene.ask("/api/actions/break")).status).toBe(405);
    expect((await scene.act("break", "x".repeat(70_000))).status).toBe(400);
    expect((await scene.act("break", [1])).status).toBe(400);
    expect((await scene.act("constructor", given)).status).toBe(404);
    expect((await scene.look("locks")).locks).toHaveLength(1);
  });
});
