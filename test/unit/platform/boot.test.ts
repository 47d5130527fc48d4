import { afterEach, describe, expect, it, vi } from "vitest";

interface Proc {
  readonly links: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
  /** Files on a file system of their own. */
  readonly mounted?: readonly string[];
  readonly platform?: NodeJS.Platform;
}

const NS = "/proc/self/ns/time";
const CHILDREN = "/proc/self/ns/time_for_children";
const OFFSETS = "/proc/self/timens_offsets";
const BOOT_ID = "/proc/sys/kernel/random/boot_id";
const PLAIN = {
  links: { [NS]: "time:[1]", [CHILDREN]: "time:[1]" },
  files: { [OFFSETS]: "monotonic           0         0\nboottime            0         0\n", [BOOT_ID]: "the boot\n" },
};
const platform = Object.getOwnPropertyDescriptor(process, "platform") ?? {};

afterEach(() => {
  Object.defineProperty(process, "platform", platform);
  vi.doUnmock("node:fs");
  vi.resetModules();
});

/** The module on a system that shows this, and nothing else, of itself. */
async function on({ links, files, mounted = [], platform: name = "linux" }: Proc) {
  const given = <T>(from: Readonly<Record<string, T>>, path: string): T => {
    const found = from[path];
    if (found === undefined) throw Object.assign(new Error("missing"), { code: path in from ? "EACCES" : "ENOENT" });
    return found;
  };
  Object.defineProperty(process, "platform", { ...platform, value: name });
  vi.resetModules();
  vi.doMock("node:fs", () => ({
    existsSync: () => false,
    readFileSync: (path: string) => given(files, path),
    readlinkSync: (path: string) => given(links, path),
    statSync: (path: string) => ({ dev: mounted.includes(path) ? 2 : 1 }),
  }));
  const { bootIdUnder, readClockShift } = await import("../../../src/platform/boot.js");
  const shift = readClockShift();
  return { shift, id: bootIdUnder(shift) };
}

describe("the boot that a process is in", () => {
  const none = { monotonicMs: 0, boottimeMs: 0 };

  it("is the kernel's, without a shift outside of time namespaces, and on kernels without them", async () => {
    expect(await on(PLAIN)).toEqual({ id: "the boot", shift: none });
    expect(await on({ links: {}, files: { [BOOT_ID]: "the boot\n" } })).toEqual({ id: "the boot", shift: none });
  });

  it("is the kernel's inside a time namespace, whose shift is told", async () => {
    const offsets = "monotonic      -10         500000000\nboottime        86400         0\n";
    const found = await on({ ...PLAIN, files: { ...PLAIN.files, [OFFSETS]: offsets } });
    expect(found).toEqual({ id: "the boot", shift: { monotonicMs: -9_500, boottimeMs: 86_400_000 } });
  });

  // kills: shift-of-children, clock-unknown
  it("is unknown where the shift that is told is that of the children, makes no sense or is denied", async () => {
    const unknown = { id: "", shift: null };
    expect(await on({ ...PLAIN, links: { [NS]: "time:[1]", [CHILDREN]: "time:[2]" } })).toEqual(unknown);
    expect(await on({ ...PLAIN, files: { ...PLAIN.files, [OFFSETS]: "boottime 0 0\n" } })).toEqual(unknown);
    expect(await on({ links: PLAIN.links, files: { [BOOT_ID]: "the boot\n" } })).toEqual(unknown);
    expect(await on({ ...PLAIN, links: { [NS]: undefined as unknown as string } })).toEqual(unknown);
  });

  // kills: boot-id-mounted-over
  it("is unknown where another file is mounted over its id, and where the id cannot be read", async () => {
    expect(await on({ ...PLAIN, mounted: [BOOT_ID] })).toEqual({ id: "", shift: none });
    expect(await on({ ...PLAIN, files: { [OFFSETS]: PLAIN.files[OFFSETS] } })).toEqual({ id: "", shift: none });
  });

  it("is unknown on macOS without sysctl, and on systems without an id", async () => {
    for (const name of ["darwin", "win32"] as const)
      expect(await on({ links: {}, files: {}, platform: name })).toEqual({ id: "", shift: none });
  });
});
