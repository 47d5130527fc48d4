import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pathKey } from "../../../src/client/path-key.js";
import { openHoldfast } from "../../../src/features/configuration.js";
import { openDocuments } from "../../../src/features/documents/documents.js";
import { publish } from "../../../src/features/publish/protocol.js";
import { listManifests } from "../../../src/features/publish/record/manifests.js";
import { openWorktrees } from "../../../src/features/worktree/open-worktrees.js";
import { realTextPath } from "../../../src/files/real-path.js";
import { FOLDING, openFoldingDisk } from "../../fixtures/folding-disk.fixture.js";

// kills: path-folds (NTFS), path-on-disk (NTFS), typed-folding (NTFS)
describe.each(FOLDING.map((disk) => [`${disk.kind} (${disk.need})`, disk] as const))("on %s", (_, disk) => {
  it.skipIf(!disk.isThere())(
    "a file has one key however it is spelled, before and after it is made (needs such a disk)",
    () => {
      using opened = openFoldingDisk(disk);
      const root = opened.dir;
      const keys = () => new Set(["New.TXT", "new.txt", "NEW.txt"].map((name) => pathKey(root, name)));
      expect(readdirSync(root)).toEqual([]);
      expect(keys()).toEqual(new Set(["path/new.txt"]));
      expect(readdirSync(root)).toEqual([]);
      writeFileSync(join(root, "NEW.TXT"), "");
      expect(keys()).toEqual(new Set(["path/new.txt"]));
      mkdirSync(join(root, "Src"));
      expect(pathKey(root, "SRC/Deep/File.ts")).toBe("path/src/deep/file.ts");
      expect(pathKey(root, "src/deep/file.TS")).toBe("path/src/deep/file.ts");
      symlinkSync("SRC", join(root, "link"));
      expect(pathKey(root, "LINK/File.ts")).toBe("path/src/file.ts");
    },
  );

  it.skipIf(!disk.isThere())(
    "a root has one real path however it is spelled, and keys below each spelling (needs such a disk)",
    () => {
      using opened = openFoldingDisk(disk);
      const inner = join(opened.dir, "Workspace");
      mkdirSync(inner);
      writeFileSync(join(inner, "a"), "");
      const other = join(opened.dir, "WORKSPACE");
      expect(realTextPath(other)).toBe(realTextPath(inner));
      expect(pathKey(inner, join(other, "a"))).toBe("path/a");
      expect(pathKey(other, join(inner, "B"))).toBe("path/b");
      renameSync(inner, join(opened.dir, "Moved"));
      expect(pathKey(join(opened.dir, "moved"), "A")).toBe("path/a");
    },
  );

  it.skipIf(!disk.isThere())(
    "a key that was typed in capitals is refused, also beside one that was right (needs such a disk)",
    async () => {
      using opened = openFoldingDisk(disk);
      const root = realTextPath(opened.dir);
      writeFileSync(join(root, "a.txt"), "");
      await using holdfast = await openHoldfast({ root, owner: "agent:one" });
      const right = await holdfast.acquire("path/a.txt", { wait: 0 });
      for (const key of ["path/A.txt", "path/New.txt"])
        await expect(holdfast.acquire(key, { wait: 0 })).rejects.toMatchObject({
          code: "E_INVALID_ARGUMENT",
          next: [`Use ${key.toLowerCase()}.`],
        });
      await right.release();
    },
  );

  it.skipIf(!disk.isThere())(
    "documents whose names differ in capitals are kept apart (needs such a disk)",
    async () => {
      using opened = openFoldingDisk(disk);
      await using documents = openDocuments(join(opened.dir, "documents"));
      for (const id of ["Foo", "foo"]) await documents.update(id, () => ({ id }));
      for (const id of ["Foo", "foo"]) expect(await documents.get(id)).toMatchObject({ revision: 1, value: { id } });
    },
  );

  // kills: worktree-other-spelling (NTFS)
  it.skipIf(!disk.isThere())(
    "a worktree and a published folder are one thing however they are spelled (needs such a disk)",
    async () => {
      using opened = openFoldingDisk(disk);
      await using holdfast = await openHoldfast({ store: "memory:spelling" });
      const { trees } = await openWorktrees(holdfast, { root: opened.dir });
      await trees.add("main", { path: "Payload" });
      await expect(trees.add("other", { path: "PAYLOAD/inner" })).rejects.toMatchObject({ details: { field: "path" } });
      expect(() => trees.get("MAIN")).toThrow("there is no worktree MAIN");
      for (const target of ["Site", "SITE"])
        await publish({ holdfast, key: "site" }, join(opened.dir, target), (stage) => stage.write("a", target));
      expect(new Set((await listManifests(holdfast)).map(({ target }) => target.toLowerCase())).size).toBe(1);
      expect((await listManifests(holdfast, { target: join(opened.dir, "sitE") })).length).toBeGreaterThan(0);
    },
  );
});
