import { mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { assertLocalFileSystem, fileSystemOf, probeFileSystem } from "../../../src/platform/file-system.js";

const MOUNTINFO = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 0:50 / /home rw,relatime shared:2 master:1 - nfs4 server:/home rw,vers=4.2
41 40 254:1 / /home/me/local rw - xfs /dev/vdb rw
42 27 0:51 / /mnt/my\\040share\\134x rw - cifs //server/share rw
43 27 0:52 / /stacked rw - ext4 /dev/vdc rw
44 43 0:53 / /stacked rw - 9p host rw
45 27 0:54 / /remote rw - fuse.sshfs me@server:/ rw
`;

let dir: string;

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-fs-")));
});

afterEach(() => {
  vi.doUnmock("node:fs");
  vi.doUnmock("../../../src/platform/kernel-lock.js");
  vi.resetModules();
  rmSync(dir, { recursive: true, force: true });
});

describe("fileSystemOf", () => {
  it.each([
    ["/", "ext4", "/"],
    ["/srv/store", "ext4", "/"],
    ["/homes/me", "ext4", "/"],
    ["/home", "nfs4", "/home"],
    ["/home/me/store", "nfs4", "/home"],
    ["/home/me/local/store", "xfs", "/home/me/local"],
    ["/mnt/my share\\x/store", "cifs", "/mnt/my share\\x"],
    ["/stacked/store", "9p", "/stacked"],
    ["/remote", "fuse.sshfs", "/remote"],
  ])("STORE-2 finds the mount of %s: %s at %s", (path, type, mountPoint) => {
    expect(fileSystemOf(path, MOUNTINFO)).toEqual({ type, mountPoint });
  });

  it("knows nothing when no line leads to the path or no line makes sense", () => {
    expect(fileSystemOf("/srv", "")).toBeUndefined();
    expect(fileSystemOf("/srv", "22 27 0:21 / /proc rw - proc proc rw\n")).toBeUndefined();
    expect(fileSystemOf("/srv", "garbage\n27 1 254:0 / / rw,relatime\n27 1 254:0 / / rw -\n")).toBeUndefined();
  });
});

describe("assertLocalFileSystem", () => {
  it("accepts this machine's folder for temporary files", () => {
    expect(() => assertLocalFileSystem(dir)).not.toThrow();
  });

  it("STORE-2 E_IO names a folder that is not there", () => {
    const missing = join(dir, "missing");
    expect(() => assertLocalFileSystem(missing)).toThrow(
      expect.objectContaining({ code: "E_IO", details: { path: missing, errno: "ENOENT" } }),
    );
  });

  it.each(["nfs4", "cifs", "9p", "virtiofs", "fuse.sshfs"])(
    "STORE-2 refuses %s through a symlink, and says what to do",
    async (type) => {
      const { assertLocalFileSystem: withMounts } = await importWithFs(() => ({
        readFileSync: () => `27 1 254:0 / / rw - ext4 /dev/vda rw\n40 27 0:50 / ${dir} rw - ${type} x rw\n`,
      }));
      const outside = mkdtempSync(join(tmpdir(), "holdfast-fs-"));
      symlinkSync(dir, join(outside, "link"));
      expect(() => withMounts(outside)).not.toThrow();
      expect(() => withMounts(join(outside, "link"))).toThrow(
        expect.objectContaining({
          code: "E_CONFIG",
          message: expect.stringContaining(type),
          details: expect.objectContaining({ fs_type: type, mount_point: dir }),
          next: [expect.stringContaining("local disk"), expect.stringContaining("postgres://")],
        }),
      );
      rmSync(outside, { recursive: true });
    },
  );

  it.each(["ext4", "tmpfs", "overlay", "fuse", "fuse.bindfs", "fuseblk"])(
    "STORE-2 leaves %s to the probes",
    async (type) => {
      const { assertLocalFileSystem: withMounts } = await importWithFs(() => ({
        readFileSync: () => `27 1 254:0 / / rw - ${type} x rw\n`,
      }));
      expect(() => withMounts(dir)).not.toThrow();
    },
  );
});

describe("probeFileSystem", () => {
  it("STORE-2 passes on a local disk and leaves nothing behind", () => {
    probeFileSystem(dir);
    expect(readdirSync(dir)).toEqual([]);
  });

  it("STORE-2 E_IO when nothing can be created there", () => {
    const file = join(dir, "file");
    writeFileSync(file, "");
    for (const [path, errno] of [
      [join(dir, "missing"), "ENOENT"],
      [file, "ENOTDIR"],
    ] as const) {
      expect(() => probeFileSystem(path)).toThrow(expect.objectContaining({ code: "E_IO", details: { path, errno } }));
    }
  });

  it.each([
    ["exclusive create", "wrong result", createsTwice],
    ["write in place", "wrong result", () => ({ writeSync: () => 3 })],
    ["hard link", "EPERM", () => ({ linkSync: fails("EPERM") })],
    ["hard link", "wrong result", (actual: Fs) => ({ linkSync: actual.copyFileSync })],
    ["rename over a file", "EEXIST", () => ({ renameSync: fails("EEXIST") })],
    ["rename over a file", "wrong result", () => ({ renameSync: () => {} })],
  ] as const)("STORE-2 a failing %s (%s) is E_CONFIG and leaves nothing behind", async (probe, errno, faults) => {
    const { probeFileSystem: onFaulty } = await importWithFs(faults);
    expect(() => onFaulty(dir)).toThrow(refusal(probe, errno));
    expect(readdirSync(dir)).toEqual([]);
  });

  it.each([
    ["wrong result", { tryLockExclusive: () => true, unlock: () => {} }],
    ["wrong result", { tryLockExclusive: () => false, unlock: () => {} }],
    ["ENOLCK", { tryLockExclusive: fails("ENOLCK"), unlock: () => {} }],
  ])("STORE-2 kernel locks that do not exclude (%s) are E_CONFIG", async (errno, locks) => {
    vi.resetModules();
    vi.doMock("../../../src/platform/kernel-lock.js", () => locks);
    const { probeFileSystem: onFaulty } = await import("../../../src/platform/file-system.js");
    expect(() => onFaulty(dir)).toThrow(refusal("kernel lock", errno));
    expect(readdirSync(dir)).toEqual([]);
  });

  it("STORE-2 a full disk is E_IO, no verdict on the file system", async () => {
    const { probeFileSystem: onFull } = await importWithFs(() => ({ writeSync: fails("ENOSPC") }));
    expect(() => onFull(dir)).toThrow(
      expect.objectContaining({ code: "E_IO", details: { path: dir, errno: "ENOSPC" } }),
    );
    expect(readdirSync(dir)).toEqual([]);
  });
});

type Fs = typeof import("node:fs");

/** The module over a file system that misbehaves in the given calls and is the real one otherwise. */
async function importWithFs(
  faults: (actual: Fs) => object,
): Promise<typeof import("../../../src/platform/file-system.js")> {
  vi.resetModules();
  vi.doMock("node:fs", async (importActual) => {
    const actual = await importActual<Fs>();
    return { ...actual, ...faults(actual) };
  });
  return import("../../../src/platform/file-system.js");
}

function createsTwice(actual: Fs): object {
  return { openSync: (path: string, flags: string) => actual.openSync(path, flags.replace("wx", "w")) };
}

function fails(code: string): () => never {
  return () => {
    throw Object.assign(new Error(code), { code });
  };
}

function refusal(probe: string, errno: string): unknown {
  return expect.objectContaining({
    name: "HoldfastError",
    code: "E_CONFIG",
    message: expect.stringContaining(`"${probe}": ${errno}`),
    details: { reason: "unsupported_file_system", path: dir, probe, errno },
    next: [expect.stringContaining("local disk"), expect.stringContaining("postgres://")],
  });
}
