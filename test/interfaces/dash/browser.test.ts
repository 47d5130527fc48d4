/** DASH-1: the page as people have it: in a browser, by keyboard, with a screen reader, light and dark. */
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBoard } from "../../../src/features/board/board.js";
import { type Holdfast, openHoldfast } from "../../../src/index.js";
import { openJobs } from "../../../src/jobs.js";
import { CHROMIUM, launchChromium } from "../../fixtures/dash/chromium.fixture.js";
import { Scene } from "../../fixtures/dash/dash.fixture.js";

const TABS = ["Locks", "Waits", "Timeline", "Audit", "Jobs", "Board", "Snapshots"];
/** A busy machine may take long for anything; this ends only what hangs. */
const PATIENTLY_MS = 120_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string }[];
}

/** What a person with other eyes, or none, would stumble over. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(AXE); // Evaluated, since the page takes scripts from its own server only.
  const { violations: found } = (await page.evaluate("axe.run()")) as { violations: Violation[] };
  return found.map(({ id, help, nodes }) => `${id}: ${help} ${nodes.map(({ html }) => html).join(" ")}`);
}

describe.runIf(CHROMIUM !== undefined)("DASH-1: the page in a browser (needs Chromium)", () => {
  let browser: Browser;
  let scene: Scene;
  let other: Holdfast;

  beforeAll(async () => {
    browser = await launchChromium();
    scene = await Scene.open({ allowsActions: true });
    other = await openHoldfast({ store: scene.holdfast.storeUrl, owner: "agent:b" });
    await scene.holdfast.acquire("deploy", { ttl: "10m", metadata: { why: "<img src=x onerror=alert(1)>" } });
    await scene.holdfast.acquire("docs", { mode: "read", ttl: "10m" });
    other.acquire("deploy", { wait: "10m" }).catch(() => undefined);
    await (await other.acquire("build")).release();
    await openJobs(scene.holdfast).enqueue("render", {}, { project: "tiles" });
    const board = openBoard(scene.holdfast, join(scene.root, ".holdfast", "board"));
    await board.add({ title: "Paint the fence" });
    await board.add({ title: "Turned \u202eround" });
  });
  afterAll(async () => {
    await browser?.close();
    await other?.close();
    await scene?.[Symbol.asyncDispose]();
  });

  /** A browser of its own, let in by a link of its own. What it complains of fails the test. */
  async function open(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
    const page = await (await browser.newContext(options)).newPage();
    page.setDefaultTimeout(PATIENTLY_MS);
    page.on("pageerror", (error) => scene.errors.push(error));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") scene.errors.push(new Error(message.text()));
    });
    await page.goto(scene.dash.link);
    await page.getByRole("heading", { name: "Locks" }).waitFor();
    return page;
  }

  it.each(["light", "dark"] as const)("every tab shows what is there, and can be read, %s", async (colorScheme) => {
    const page = await open({ colorScheme });
    const shown = {
      Locks: "deploy",
      Waits: "agent:b",
      Timeline: "build",
      Audit: "build",
      Jobs: "tiles",
      Board: "fence",
    };
    for (const tab of TABS) {
      await page.getByRole("navigation").getByRole("link", { name: tab }).click();
      await page
        .getByRole("heading", { level: 1, name: tab })
        .or(page.getByRole("heading", { level: 2, name: tab }))
        .waitFor();
      const text = shown[tab as keyof typeof shown];
      if (text !== undefined) await page.getByRole("main").getByText(text).first().waitFor();
      expect([tab, await violations(page)]).toEqual([tab, []]);
    }
    await page.context().close();
    expect(scene.errors).toEqual([]);
  });

  it("is live, keeps what is typed, and is found again by its address", async () => {
    const page = await open();
    const search = page.getByLabel("Search");
    await search.fill("late");
    const lease = await scene.holdfast.acquire("late/one", { ttl: "10m" });
    await page.getByText("late/one").first().waitFor();
    expect(await search.inputValue()).toBe("late");
    expect(await page.getByText("deploy").count()).toBe(0);
    await page.reload();
    await page.getByText("late/one").first().waitFor();
    expect(await page.getByLabel("Search").inputValue()).toBe("late");
    await lease.release();
    await page.getByText("late/one").first().waitFor({ state: "detached" });
    await page.context().close();
  });

  it("what is typed stays in the tab in which it was typed, and keeps nobody there", async () => {
    const page = await open();
    const hash = (): string => new URL(page.url()).hash;
    await page.getByLabel("Search").fill("docs");
    await expect.poll(hash, { timeout: 20_000 }).toBe("#/locks?text=docs");
    await page.evaluate('location.hash = "#/audit"'); // The field goes while it has the focus.
    await page.getByRole("heading", { name: "Audit" }).waitFor();
    await page.getByText("build").first().waitFor({ timeout: 20_000 });
    expect(hash()).toBe("#/audit");
    await page.getByLabel("Search").fill("docs");
    await page.getByRole("link", { name: "Timeline" }).click(); // Before the search has begun.
    await page.getByRole("heading", { name: "Timeline" }).waitFor({ timeout: 20_000 });
    await page.waitForTimeout(500);
    expect(hash()).toBe("#/timeline");
    await page.context().close();
  });

  it("another search shows nothing of the one before, also of what was open", async () => {
    const page = await open();
    for (const [tab, row] of [
      ["locks", "deploy"],
      ["audit", "build"],
    ] as const) {
      await page.goto(`${scene.origin}/#/${tab}`);
      const opener = page.locator("tr", { hasText: row }).first().locator(".opener");
      await opener.click();
      await page.locator(".details").first().waitFor();
      await page.getByLabel("Search").fill("docs");
      await expect.poll(() => page.locator("tr", { hasText: row }).count(), { timeout: 20_000 }).toBe(0);
      await page.locator("tr", { hasText: "docs" }).first().waitFor();
    }
    await page.context().close();
  });

  it("a lock is opened, and broken with a reason, by keyboard alone", async () => {
    const page = await open();
    await scene.holdfast.acquire("stuck", { ttl: "10m" });
    const opener = page.getByRole("button", { name: /stuck/ }).first();
    await opener.focus();
    await page.keyboard.press("Enter");
    // Until it is known who holds it, it can be seen but not pressed.
    const breaks = page.getByRole("button", { name: /^Break/, disabled: false }).first();
    await breaks.waitFor();
    await breaks.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("textbox").fill("it hangs");
    await page.keyboard.press("Tab");
    await dialog.getByRole("button", { name: /^Break/ }).focus();
    await page.keyboard.press("Enter");
    await page
      .getByText(/Broke stuck/)
      .first()
      .waitFor();
    expect((await scene.holdfast.inspect("stuck")).state).toBe("free");
    await page.context().close();
  });

  it("what others wrote is shown as text, and runs nothing", async () => {
    const page = await open();
    await page
      .getByRole("button", { name: /deploy/ })
      .first()
      .click();
    await page.getByText("<img src=x onerror=alert(1)>").first().waitFor();
    expect(await page.locator("img").count()).toBe(0);
    await page.goto(`${scene.origin}/#/board`);
    await page.getByText("Turned \ufffdround").waitFor({ timeout: 20_000 });
    await page.context().close();
    expect(scene.errors).toEqual([]);
  });

  it("a damaged entry of the record is shown as damaged, and the other entries and the timeline beside it", async () => {
    await using damaged = await Scene.open({ store: "file" });
    for (const key of ["k/x", "k/y", "k/z"]) await (await damaged.holdfast.acquire(key)).release();
    const chain = join(damaged.root, ".holdfast", "locks", "locks", "k", "audit.jsonl");
    const lines = readFileSync(chain, "utf8").split("\n");
    const odd = { ...JSON.parse(lines[2] ?? ""), details: { previous: { owner: {} } } };
    // Of the same lengths, so that the chain ends where it did.
    lines[1] = "{}".padEnd(lines[1]?.length ?? 0);
    lines[2] = JSON.stringify(odd).padEnd(lines[2]?.length ?? 0);
    writeFileSync(chain, lines.join("\n"));
    const page = await (await browser.newContext()).newPage();
    page.on("pageerror", (error) => damaged.errors.push(error));
    page.setDefaultTimeout(PATIENTLY_MS);
    await page.goto(damaged.dash.link);
    await page.getByRole("navigation").getByRole("link", { name: "Audit" }).click();
    await page.getByRole("cell", { name: "it has no seq", exact: true }).waitFor();
    expect(await page.getByRole("row").filter({ hasText: "damaged" }).count()).toBe(2);
    expect(await page.getByRole("row").filter({ hasText: "k/z" }).count()).toBe(2);
    await page.getByRole("button", { name: "unknown" }).last().click();
    await page.getByText('"line": "{}').first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel("Search").fill("damaged");
    await page.getByText("2 entries").first().waitFor();
    await page.getByRole("navigation").getByRole("link", { name: "Timeline" }).click();
    await page.getByText("k/z").first().waitFor();
    await page.getByLabel("Search").fill("k/x");
    await page.getByText("1 key").first().waitFor();
    await page.context().close();
    expect(damaged.errors).toEqual([]);
  });

  it("an eighth tab loads as the first one did", async () => {
    const page = await open();
    for (let tab = 0; tab < 7; tab += 1) {
      const next = await page.context().newPage();
      await next.goto(scene.origin);
      await next.getByText("deploy").first().waitFor();
    }
    await page.context().close();
  });

  it("says so when the server is gone", async () => {
    await using gone = await Scene.open();
    const page = await (await browser.newContext()).newPage();
    await page.goto(gone.dash.link);
    await page.getByText("live", { exact: true }).waitFor();
    await gone.dash.close();
    await page
      .getByText(/no answer/)
      .first()
      .waitFor();
    await page.context().close();
  });
});
