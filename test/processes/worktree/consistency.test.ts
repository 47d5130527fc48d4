/** Quiesced or not, whose lock, and what a stale token leaves. */
import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { evidenceOf, isRacy } from "../../../src/features/worktree/capture/evidence.js";
import { readIgnoreRules } from "../../../src/features/worktree/capture/ignore-rules.js";
import { walk } from "../../../src/features/worktree/capture/walk.js";
import { codeOf } from "../../fixtures/error-code.fixture.js";
import { openScene, outlineOf, type Scene } from "../../fixtures/worktree/worktree.fixture.js";

let scene: Scene;
afterEach(() => scene.close());

const staging = (): string[] => readdirSync(join(scene.root, ".holdfast/snapshots/staging"));

/** Enough files for the event loop to come in between, where `meddle` is called. */
function many(): void {
  scene.write(Object.fromEntries(Array.from({ length: 2_500 }, (_, at) => [`d${at % 9}/f${at}`, `content ${at}`])));
}

/** Somebody else ends the lock of the worktree and takes it, by the time this returns. */
function steal(root: string): void {
  const library = new URL("../../../dist/index.js", import.meta.url).href;
  const script = `
    import { openHoldfast } from ${JSON.stringify(library)};
    const holdfast = await openHoldfast({ root: ${JSON.stringify(root)}, owner: "admin:two", heart: "loop" });
    await holdfast.break("worktree:main", { reason: "for the test" }); // It ends the hold on the payload as well.
    await holdfast.acquire("worktree:main", { detached: true, ttl: "1h" });
    await holdfast.close();`;
  execFileSync(process.execPath, ["--input-type=module", "-e", script]);
}

/**
 * In a process of its own, which can be ended when it hangs: replaces the file in the second walk, between the look at it and
 * the reading. Whether to stop is asked at the first entry of the first walk, and at the thousandth of the second.
 */
function takeReplacing(root: string, path: string, make: string): string {
  const [library, feature] = ["index.js", "worktree.js"].map(
    (name) => new URL(`../../../dist/${name}`, import.meta.url).href,
  );
  const script = `
    import { execSync } from "node:child_process";
    import { openHoldfast } from ${JSON.stringify(library)};
    import { openWorktrees } from ${JSON.stringify(feature)};
    const holdfast = await openHoldfast({ root: ${JSON.stringify(root)}, heart: "loop" });
    const worktrees = await openWorktrees(holdfast, { root: ${JSON.stringify(root)}, threads: 0 });
    let asked = 0;
    const signal = Object.assign(new AbortController().signal, {
      throwIfAborted() {
        asked += 1;
        if (asked === 2) execSync(${JSON.stringify(`rm ${path} && ${make} ${path}`)});
      },
    });
    console.log(await worktrees.take("main", { signal }).then(() => "taken", ({ code }) => code));
    await holdfast.close();`;
  return execFileSync(process.execPath, ["--input-type=module", "-e", script], { timeout: 15_000 }).toString().trim();
}

describe("TREE-4: a snapshot is quiesced, or says that it is not", () => {
  it("a writer that changes files all the while makes it E_CONSISTENCY_UNAVAILABLE, and nothing is published", async () => {
    scene = await openScene();
    many();
    let writes = 0;
    const writer = setInterval(() => {
      writes += 1;
      writeFileSync(join(scene.payload, "d1/f1"), `content ${writes}`);
    }, 0);
    expect(await codeOf(scene.worktrees.take("main"))).toBe("E_CONSISTENCY_UNAVAILABLE");
    expect(staging()).toEqual([]);
    expect(scene.worktrees.list()).toEqual([]);
    const taken = await scene.worktrees.take("main", { consistency: "best_effort" });
    clearInterval(writer);
    expect(taken).toMatchObject({ consistency_level: "best_effort" });
    expect(taken.warnings[0]).toContain("best_effort");
    expect(scene.worktrees.list()[0]?.warnings[0]).toContain("best_effort");
    expect((await scene.worktrees.verify(null)).ok).toBe(true);
    expect((await scene.worktrees.take("main")).consistency_level).toBe("quiesced");
  });

  // kills: read-again-waits
  it.each([
    ["a pipe", "mkfifo"],
    ["a link", "ln -s /etc/passwd"],
  ])("%s in the place of a file that is read again is a change, and nobody waits for it", async (_what, make) => {
    scene = await openScene();
    scene.write(Object.fromEntries(Array.from({ length: 999 }, (_, at) => [`f${String(at).padStart(3, "0")}`, ""])));
    const last = join(scene.payload, "f998");
    utimesSync(last, new Date(), new Date(Date.now() + 3_600_000)); // Its time proves nothing.
    expect(takeReplacing(scene.root, last, make)).toBe("E_CONSISTENCY_UNAVAILABLE");
  });

  // kills: snapshot-second-walk
  it.each([
    ["a file is added", () => writeFileSync(join(scene.payload, "d3/new"), "new")],
    ["a file is removed", () => rmSync(join(scene.payload, "d0/f0"), { force: true })],
    [
      "a file is replaced by one of the same size and time",
      () => {
        const path = join(scene.payload, "d0/f9");
        const { atime, mtime } = statSync(path);
        writeFileSync(join(scene.root, "aside"), "CONTENT 9");
        renameSync(join(scene.root, "aside"), path);
        utimesSync(path, atime, mtime);
      },
    ],
  ])("%s while it is read", async (_what, meddle) => {
    scene = await openScene();
    many();
    let isDone = false;
    const onProgress = ({ files }: { files: number }): void => {
      if (files > 900 && !isDone) {
        isDone = true;
        meddle();
      }
    };
    expect(await codeOf(scene.worktrees.take("main", { onProgress }))).toBe("E_CONSISTENCY_UNAVAILABLE");
    expect(isDone).toBe(true);
  });

  it("a file changed within the clock's grain is read again, although it looks the same", async () => {
    scene = await openScene();
    scene.write({ file: "one" });
    const [, seen] = walk({ payload: scene.payload, except: [], rules: readIgnoreRules(scene.payload) });
    if (seen === undefined || seen.kind === "skipped") throw new Error("no file");
    const stampedMs = Number(seen.stats.ctimeNs / 1_000_000n);
    expect(isRacy(seen, stampedMs + 5)).toBe(true);
    expect(isRacy(seen, stampedMs + 5_000)).toBe(false);
    expect(isRacy(seen, stampedMs - 5_000)).toBe(true); // A clock that was set back proves nothing.
    expect(evidenceOf(seen)).toContain(String(seen.stats.ino));
    const first = await scene.worktrees.take("main");
    const cache = join(scene.root, ".holdfast/snapshots/caches/main");
    if (!readFileSync(cache, "utf8").includes("\tracy\t")) return; // Slow machine: it was old enough by then.
    expect((await scene.worktrees.take("main")).files_read).toBeGreaterThan(0);
    expect(first.files_read).toBe(1);
  });

  it("a damaged cache is not believed", async () => {
    scene = await openScene();
    scene.write({ file: "one" });
    await scene.worktrees.take("main");
    const cache = join(scene.root, ".holdfast/snapshots/caches/main");
    const bytes = readFileSync(cache);
    bytes[bytes.length - 80] = (bytes[bytes.length - 80] ?? 0) ^ 1;
    writeFileSync(cache, bytes);
    expect((await scene.worktrees.take("main")).files_read).toBe(1);
  });
});

describe("TREE-3: whose lock", () => {
  it("a snapshot takes the lock for itself when it is free, and is refused when it is not", async () => {
    scene = await openScene();
    const { holdfast } = await scene.another("agent:two");
    const lease = await holdfast.acquire("worktree:main");
    expect(lease.grants[0]).toMatchObject({ worktree_id: "main" });
    expect(await codeOf(scene.worktrees.take("main"))).toBe("E_LOCK_CONFLICT");
    await lease.release();
    const { fencing_token: token } = await scene.worktrees.take("main");
    expect(token).toBeGreaterThan(lease.fencingToken);
    expect(await scene.holdfast.list()).toEqual([]);
  });

  it("a lease that is shown is used, in this process and by its token", async () => {
    scene = await openScene();
    const lease = await scene.holdfast.acquire("worktree:main");
    expect((await scene.worktrees.take("main", { lease })).fencing_token).toBe(lease.fencingToken);
    const { worktrees } = await scene.another("agent:two");
    expect((await worktrees.take("main", { token: lease.token })).fencing_token).toBe(lease.fencingToken);
    const [first] = worktrees.list();
    await worktrees.restore.inPlace(first?.snapshot_id ?? "", "main", { token: lease.token });
    await lease.release();
    const events = (await scene.holdfast.audit.list()).map((entry) => entry.event);
    expect(events.filter((event) => event === "snapshot" || event === "restore")).toEqual([
      ...["snapshot", "snapshot", "snapshot", "restore"],
    ]);
  });

  it.each(["snapshot", "restore in place"] as const)(
    "a token that went stale meanwhile publishes nothing and leaves nothing: %s",
    async (verb) => {
      scene = await openScene();
      scene.write({ file: "one" });
      const first = await scene.worktrees.take("main");
      scene.write({ file: "two" });
      many();
      const before = outlineOf(scene.payload);
      const lease = await scene.holdfast.acquire("worktree:main", { ttl: "1h" });
      let isStolen = false;
      const onProgress = (): void => {
        if (!isStolen) steal(scene.root);
        isStolen = true;
      };
      const options = { token: lease.token, onProgress };
      const work =
        verb === "snapshot"
          ? scene.worktrees.take("main", options)
          : scene.worktrees.restore.inPlace(first.snapshot_id, "main", options);
      expect(await codeOf(work)).toBe("E_FENCING_MISMATCH");
      expect(isStolen).toBe(true);
      expect(staging()).toEqual([]);
      expect(scene.worktrees.list().map((each) => each.snapshot_id)).toEqual([first.snapshot_id]);
      expect(outlineOf(scene.payload)).toEqual(before);
      expect(scene.worktrees.trees.get("main").head).toBe(first.snapshot_id);
      expect(await scene.worktrees.check()).toEqual([]);
    },
  );

  it("two snapshots of one worktree at once: one after the other, or refused", async () => {
    scene = await openScene();
    many();
    const { worktrees } = await scene.another("agent:two");
    const codes = await Promise.all([
      codeOf(scene.worktrees.take("main")),
      codeOf(worktrees.take("main", { wait: "30s" })),
    ]);
    expect(codes.filter((code) => code === null).length).toBeGreaterThanOrEqual(1);
    expect(codes.filter((code) => code !== null && code !== "E_LOCK_CONFLICT")).toEqual([]);
    expect((await worktrees.verify(null)).ok).toBe(true);
  });
});

describe("TREE-1: shared worktrees", () => {
  it("need no lock for a snapshot, are labelled, and are not restored in place", async () => {
    scene = await openScene({ mode: "shared" });
    scene.write({ file: "one" });
    const { holdfast } = await scene.another("agent:two");
    await holdfast.acquire("worktree:main");
    const taken = await scene.worktrees.take("main");
    expect(taken).toMatchObject({ consistency_level: "best_effort", worktree_mode: "shared", fencing_token: null });
    expect(taken.warnings.join()).toContain("high risk");
    expect(scene.worktrees.trees.get("main").warnings.join()).toContain("high risk");
    expect(await codeOf(scene.worktrees.restore.inPlace(taken.snapshot_id, "main"))).toBe("E_FORBIDDEN");
    const events = await scene.holdfast.audit.list({ event: "snapshot" });
    expect(events.map((entry) => entry.details.snapshot_id)).toEqual([taken.snapshot_id]);
  });

  it("are restored in place when that was configured, under the lock", async () => {
    scene = await openScene({ mode: "shared", sharedInPlace: true });
    scene.write({ file: "one" });
    const taken = await scene.worktrees.take("main");
    scene.write({ file: "two" });
    await scene.worktrees.restore.inPlace(taken.snapshot_id, "main");
    expect(readFileSync(join(scene.payload, "file"), "utf8")).toBe("one");
  });
});

describe("TREE-8: a restore in place never removes what it has not saved", () => {
  // kills: restore-unsaved
  it("what appears meanwhile is put aside and named", async () => {
    scene = await openScene();
    scene.write({ "gone/later": "one", file: "one" });
    const first = await scene.worktrees.take("main");
    rmSync(join(scene.payload, "gone"), { recursive: true });
    scene.write({ extra: "saved by the rescue", file: "two" });
    const seen: number[] = [];
    const restored = scene.worktrees.restore.inPlace(first.snapshot_id, "main", {
      onProgress: ({ files }) => seen.push(files),
    });
    // While it is staged, somebody who does not care for locks writes into the payload.
    const late = (async () => {
      while (!existsSync(join(scene.root, ".holdfast/snapshots/restores/main/place.json")))
        await new Promise(setImmediate);
      appendFileSync(join(scene.payload, "extra"), ", and more");
      scene.write({ gone: "not a folder" });
    })();
    const { kept, rescue_id: rescue } = await restored;
    await late;
    expect(readFileSync(join(scene.payload, "gone/later"), "utf8")).toBe("one");
    expect(kept.map(({ at }) => readFileSync(at, "utf8")).sort()).toEqual([
      "not a folder",
      "saved by the rescue, and more",
    ]);
    expect(scene.worktrees.info(rescue)).toMatchObject({ kind: "rescue", parent_id: first.snapshot_id });
    await scene.worktrees.restore.inPlace(rescue, "main");
    expect(readFileSync(join(scene.payload, "extra"), "utf8")).toBe("saved by the rescue");
  });
});
