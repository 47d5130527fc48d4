// Cuts the power while something is published: `node scripts/power-cut.mjs [ROUNDS]`, as root, on Linux, after a build.
// Needs mkfs.ext4, mount with loop devices, and python3 for the one ioctl that Node has no call for. Not part of the tests,
// since containers may not mount.
//
// Each round: a new ext4 in a file, mounted; a process publishes in a loop; the file system is shut down as by a power cut,
// without writing its journal out (EXT4_IOC_SHUTDOWN); then it is mounted again and looked at. What was acknowledged must be
// there, the tree must be whole, the manifest must agree with it, and the next publish must work.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const ROUNDS = Number(process.argv[2] ?? 20);
const PUBLISHER = fileURLToPath(new URL("power-cut/publisher.mjs", import.meta.url));
const LOOKER = fileURLToPath(new URL("power-cut/looker.mjs", import.meta.url));
const SHUTDOWN =
  "import fcntl,os,struct,sys; fcntl.ioctl(os.open(sys.argv[1],os.O_RDONLY),0x8004587d,struct.pack('I',2))";

const base = mkdtempSync(join(tmpdir(), "holdfast-power-cut-"));
const image = join(base, "image");
const mountPoint = join(base, "disk");
mkdirSync(mountPoint);
const run = (...command) => execFileSync(command[0], command.slice(1), { stdio: ["ignore", "ignore", "inherit"] });
const count = { rounds: 0, acknowledged: 0, settledForward: 0, problems: 0 };

function storeOf(kind) {
  return kind === "file" ? `file:${mountPoint}/store` : `sqlite:${mountPoint}/store/holdfast.db`;
}

async function publishUntilCut(kind, ms) {
  const child = spawn(process.execPath, [PUBLISHER, join(mountPoint, "place"), storeOf(kind), "1"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await once(child.stdout, "data");
  await sleep(ms);
  run("python3", "-c", SHUTDOWN, mountPoint);
  child.kill("SIGKILL");
  await once(child, "close");
  return Number(text.trim().split("\n").at(-1));
}

/** In a process of its own, so that nothing of it stays open. */
function look(kind, acknowledged) {
  const command = [LOOKER, join(mountPoint, "place"), storeOf(kind), String(acknowledged)];
  return JSON.parse(execFileSync(process.execPath, command, { encoding: "utf8" }));
}

try {
  for (let round = 0; round < ROUNDS; round += 1) {
    const kind = round % 2 === 0 ? "sqlite" : "file";
    rmSync(image, { force: true });
    run("truncate", "-s", "64M", image);
    run("mkfs.ext4", "-q", image);
    run("mount", "-o", "loop", image, mountPoint);
    mkdirSync(join(mountPoint, "place"));
    const acknowledged = await publishUntilCut(kind, 50 + ((round * 37) % 400));
    run("umount", mountPoint);
    run("mount", "-o", "loop", image, mountPoint);
    const { version, problems } = look(kind, acknowledged);
    if (version > acknowledged) count.settledForward += 1;
    count.rounds += 1;
    count.acknowledged += acknowledged;
    count.problems += problems.length;
    for (const problem of problems) console.error(`round ${round}, ${kind}: ${problem}`);
    run("umount", mountPoint);
  }
} finally {
  try {
    run("umount", mountPoint);
  } catch {
    // It is not mounted, which is all that is wanted.
  }
  rmSync(base, { recursive: true, force: true });
}
console.log(count);
process.exitCode = count.problems === 0 ? 0 : 1;
