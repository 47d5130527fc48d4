/** What lies around a store: workspaces inside one another, linked worktrees, locks of other programs, temporary folders. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type Json, openScene, type Scene } from "../../fixtures/command.fixture.js";

let scene: Scene;
let root: string;
beforeAll(async () => {
  scene = await openScene();
  ({ root } = scene);
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "first");
});
afterAll(() => scene.close());

const git = (...words: string[]) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], { cwd: root, encoding: "utf8" });
const found = async (cwd = root): Promise<Json[]> => (await scene.data(["doctor"], { cwd })).findings;
const codes = async (cwd = root): Promise<string[]> => (await found(cwd)).map(({ code }) => code);

function folder(path: string): string {
  const made = join(root, path);
  mkdirSync(made, { recursive: true });
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** As an earlier version, or a copy of another folder, leaves it. */
function recordIn(at: string, made: string): void {
  mkdirSync(join(at, ".holdfast"));
  const record = { schema_version: 1, id: "0123456789", made, store: { id: "x", url: "sqlite:.holdfast/holdfast.db" } };
  writeFileSync(join(at, ".holdfast/workspace.json"), JSON.stringify(record));
}

describe("the doctor on a workspace inside another one", () => {
  it.each(["in_passing", "init"])("names an inner one that was made by %s, from outside", async (made) => {
    const inner = folder("packages/inner");
    recordIn(inner, made);
    const [finding] = await found();
    expect(finding).toMatchObject({ code: "WORKSPACE_NESTED", severity: "warning" });
    expect(finding.message).toContain(`${inner} lies inside the workspace ${root}`);
    expect(finding.message.includes("made in passing")).toBe(made === "in_passing");
    expect(finding.next).toContain(`Or keep both: holdfast init --nested --root ${inner}`);
  });

  it("names the outer one, from inside", async () => {
    const inner = folder("inner");
    recordIn(inner, "init");
    expect((await scene.json(["doctor"], { cwd: inner })).data.findings[0]).toMatchObject({
      code: "WORKSPACE_NESTED",
      message: expect.stringContaining(`inside the workspace ${root}`),
    });
  });

  // kills: doctor-nested
  it("is content with one that init --nested made, or has kept", async () => {
    const inner = folder("inner");
    await scene.data(["init", "--nested"], { cwd: inner });
    expect([await codes(), await codes(inner)]).toEqual([[], []]);
    const other = folder("other");
    await scene.data(["init", "--nested", "--root", other]);
    await scene.data(["init", "--root", other]);
    expect(await codes()).toEqual([]);
  });
});

describe("the doctor on a repository with linked worktrees", () => {
  const add = (name: string): string => {
    const at = join(scene.dir, name);
    git("worktree", "add", "-q", "--no-track", "-b", name, at);
    onTestFinished(() => rmSync(at, { recursive: true, force: true }));
    return at;
  };

  // kills: doctor-worktree-record
  it("names a record of a workspace in a worktree, and none that git has carried there", async () => {
    const at = add("feat");
    expect(await codes()).toEqual([]);
    recordIn(at, "init");
    const [finding] = await found();
    expect(finding).toMatchObject({ code: "WORKTREE_RECORD", severity: "warning" });
    expect(finding.message).toContain(`the linked worktree feat uses the workspace ${root}`);
    expect((await found(at))[0]).toEqual(finding);
  });

  // kills: doctor-gone-worktree
  it("counts the locks on files of a worktree that is gone", async () => {
    const at = add("gone");
    writeFileSync(join(at, "a.txt"), "");
    await scene.data(["lock", "acquire", "path@gone/a.txt"]);
    expect(await codes()).toEqual([]);
    rmSync(at, { recursive: true });
    const [finding] = await found();
    expect(finding).toMatchObject({ code: "GRANT_WORKTREE_GONE", severity: "info" });
    expect(finding.message).toContain("path@gone: 1 lock is held");
    await scene.data(["lock", "release", "path@gone/a.txt"]);
    expect(await codes()).toEqual([]);
  });
});

// kills: doctor-folder-gone
it("the doctor calls no snapshot damaged when the folder of a worktree is gone, and says how to forget it", async () => {
  const at = folder("restored");
  await scene.data(["worktree", "add", "restored", "--path", at]);
  rmSync(at, { recursive: true });
  const { exit, data } = await scene.json(["doctor"]);
  expect([exit, data.findings]).toMatchObject([0, [{ code: "WORKTREE_FOLDER_GONE", severity: "warning" }]]);
  expect(data.findings[0].next[0]).toMatch(/^holdfast worktree remove restored /);
  await scene.data(["worktree", "remove", "restored"]);
  expect(await codes()).toEqual([]);
});

it("the doctor mentions the _LOCK.json of another program, and not that of a deliverable", async () => {
  const other = folder("deep/down/other");
  writeFileSync(join(other, "_LOCK.json"), '{"pid": 7}');
  await scene.data(["deliverable", "lock", folder("ours")]);
  const findings = await found();
  expect(findings.map(({ code }) => code)).toEqual(["LOCK_FILE_FOREIGN"]);
  expect(findings[0].message).toContain(join(other, "_LOCK.json"));
  await scene.data(["deliverable", "unlock", join(root, "ours")]);
});

// kills: doctor-temporary-store
it("the doctor warns of a store in a temporary folder that the workspace does not share", async () => {
  const temporary = folder("temporary");
  const work = mkdtempSync("/dev/shm/holdfast-doctor-");
  onTestFinished(() => rmSync(work, { recursive: true, force: true }));
  const lasting = { cwd: work };
  await scene.data(["init", "--store", `sqlite:${join(temporary, "a.db")}`], lasting);
  const [finding] = (await scene.data(["doctor"], lasting)).findings;
  expect(finding).toMatchObject({ code: "STORE_TEMPORARY", severity: "warning" });
  expect(finding.message).toContain("lies in the temporary folder /tmp");
  const env = { TMPDIR: work };
  await scene.data(["init", "--store", `sqlite:${join(work, "a.db")}`], lasting);
  expect((await scene.data(["doctor"], { ...lasting, env })).findings).toEqual([]);
});
