import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { openHoldfast } from "../../../dist/index.js";
import { PATIENTLY, Run, until } from "../../fixtures/run/run.fixture.js";

const HOLDER = fileURLToPath(new URL("./store-holder.fixture.mjs", import.meta.url));
const MAIN = fileURLToPath(new URL("../../../dist/cli/main.js", import.meta.url));
/** Far less than the lease and the time between two renewals, and much for a busy machine. The promise is a second. */
const SOON_MS = 5_000;

interface Place {
  readonly root: string;
  readonly home: string;
  /** Another store of the same kind, with the file that is to be moved in the place of the first one's. */
  readonly other: string;
  readonly mark: string;
}

const KINDS = [
  { kind: "sqlite", mark: "holdfast.db", urlIn: (home: string) => `sqlite:${join(home, "holdfast.db")}` },
  { kind: "file", mark: "store.json", urlIn: (home: string) => `file:${home}` },
] as const;

const WAYS: readonly { way: string; lost: string; act(place: Place): void }[] = [
  { way: "deleted", lost: "missing", act: ({ home }) => rmSync(home, { recursive: true }) },
  { way: "moved away", lost: "missing", act: ({ root, home }) => renameSync(home, join(root, "away")) },
  {
    way: "stashed by git",
    lost: "missing",
    act: ({ root }) => {
      git(root, "stash", "-u", "-q");
    },
  },
  { way: "emptied in place", lost: "emptied", act: ({ home, mark }) => truncateSync(join(home, mark)) },
  {
    way: "replaced by another",
    lost: "replaced",
    act({ root, home, other, mark }) {
      if (mark === "holdfast.db") return renameSync(join(other, mark), join(home, mark));
      renameSync(home, join(root, "away"));
      renameSync(other, home);
    },
  },
];

function git(root: string, ...words: string[]): void {
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], { cwd: root, stdio: "ignore" });
}

function start(...words: string[]): Run {
  return new Run(spawn(process.execPath, words, { stdio: ["pipe", "pipe", "pipe"] }));
}

async function scene(urlIn: (home: string) => string, mark: string) {
  const root = mkdtempSync(join(tmpdir(), "holdfast-lost-"));
  const [home, other] = [join(root, ".holdfast"), join(root, "other")];
  mkdirSync(home);
  git(root, "init", "-q");
  git(root, "commit", "-q", "--allow-empty", "-m", "first");
  const second = await openHoldfast({ store: urlIn(other), owner: "agent:other" });
  await (await second.acquire("k")).release();
  await second.close();
  const url = urlIn(home);
  const holder = start(HOLDER, url);
  const runner = start(MAIN, "run", "job", "--store", url, "--", process.execPath, "-e", "setInterval(() => {}, 1e6)");
  await holder.says(/held/);
  const watcher = await openHoldfast({ store: url, owner: "agent:watcher" });
  await until("the command holds its lock", async () => (await watcher.inspect("job")).grants.length === 1);
  await watcher.close();
  return {
    place: { root, home, other, mark },
    url,
    holder,
    runner,
    [Symbol.dispose]() {
      for (const each of [holder, runner]) each.signal("SIGKILL");
      rmSync(root, { recursive: true, force: true });
    },
  };
}

describe.each(KINDS)("holders of a $kind store", ({ mark, urlIn }) => {
  // kills: store-watch (deleted)
  it.each(WAYS)("lose their leases at once when it is $way", PATIENTLY, async ({ act, lost }) => {
    using made = await scene(urlIn, mark);
    const { place, url, holder, runner } = made;
    act(place);
    const actedAt = performance.now();
    await Promise.all([holder.says(/"lost":"E_STORE_CORRUPT"/), runner.ended]);
    expect(performance.now() - actedAt).toBeLessThan(SOON_MS);
    expect(holder.out).toContain(`"lost":"${lost}"`);
    expect(await runner.finished).toBe(65);
    expect(runner.err).toContain("the lease was lost");
    holder.child.stdin?.write("now\n");
    await holder.says(/"commit":"E_STORE_CORRUPT"/);
    const next = openHoldfast({ store: url, owner: "agent:next" });
    if (lost === "emptied") await expect(next).rejects.toMatchObject({ code: "E_STORE_CORRUPT" });
    else await takesTheKey(next);
  });

  it.each(WAYS)("commit nothing from the moment on when it is $way", PATIENTLY, async ({ act }) => {
    using made = await scene(urlIn, mark);
    const { place, holder } = made;
    holder.child.stdin?.write("before\n");
    await holder.says(/"commit":"done"/);
    act(place);
    holder.child.stdin?.write("after\n");
    await holder.says(/"commit":"E_STORE_CORRUPT"/);
    expect(holder.out.split('"commit":"done"')).toHaveLength(2);
  });

  it("leave nothing at the path of a store that is gone", PATIENTLY, async () => {
    using made = await scene(urlIn, mark);
    const { place, holder, runner } = made;
    renameSync(place.home, join(place.root, "away"));
    await Promise.all([holder.says(/"lost"/), runner.ended]);
    holder.child.stdin?.write("now\n");
    await holder.says(/"commit"/);
    await sleep(300);
    expect(existsSync(place.home)).toBe(false);
  });
});

/** A new store: its locks are free, and its tokens higher than those that were handed out long ago. */
async function takesTheKey(opening: ReturnType<typeof openHoldfast>): Promise<void> {
  const holdfast = await opening;
  const lease = await holdfast.tryAcquire("k");
  expect(lease?.fencingToken).toBeGreaterThan(1_700_000_000_000);
  await holdfast.close();
}
