/** DASH-1: the page of a store with 10,000 locks, half of them trees of their own, half side by side. */
import { expect, it } from "vitest";
import { CHROMIUM, launchChromium } from "../../fixtures/dash/chromium.fixture.js";
import { Scene } from "../../fixtures/dash/dash.fixture.js";
import { IS_SAMPLE } from "../../fixtures/sample.fixture.js";

const LOCKS = 10_000;
const AT_A_TIME = 50;
const LAST = keyOf(LOCKS - 1);

function keyOf(at: number): string {
  const name = String(at).padStart(5, "0");
  return at % 2 === 0 ? `tree-${name}` : `many/${name}`;
}

async function withManyLocks(store: string): Promise<Scene> {
  const scene = await Scene.open({ store });
  for (let from = 0; from < LOCKS; from += AT_A_TIME) {
    const keys = Array.from({ length: AT_A_TIME }, (_, at) => keyOf(from + at));
    await scene.holdfast.acquire(keys, { ttl: "1h" });
  }
  return scene;
}

it.skipIf(IS_SAMPLE).each(["sqlite", "file"])(
  "10,000 locks are listed and searched, on %s (needs the whole soak)",
  async (store) => {
    await using scene = await (await withManyLocks(store)).enter();
    expect(await scene.look("locks")).toMatchObject({ matching: LOCKS, pages: LOCKS / 100, is_all: true });
    expect((await scene.look(`locks?text=${LAST}`)).locks).toMatchObject([{ resource: LAST }]);
    expect((await scene.look("timeline")).rows).toHaveLength(60);
    expect((await scene.look(`audit?text=${LAST}`)).entries).toMatchObject([{ event: "granted", resource: LAST }]);
  },
);

it.runIf(CHROMIUM !== undefined)("10,000 locks in a browser (needs Chromium)", async () => {
  await using scene = await withManyLocks("sqlite");
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    await page.goto(scene.dash.link);
    await page.getByText("10,000").first().waitFor();
    await page.getByLabel("Search").fill(LAST);
    await page.getByText(LAST).first().waitFor();
    await page.getByText(keyOf(1), { exact: true }).waitFor({ state: "detached" });
  } finally {
    await browser.close();
  }
});
