/**
 * One worker process: take the lock on a file, read it, think, write it back, and only then note the update as
 * acknowledged. It may be killed or frozen at any point of that. It trusts nothing it is not told by `commit`.
 *
 * Started by the supervisor with the workspace and its name; ends when told to, or when the supervisor is gone.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isHoldfastError, openHoldfast, pathKey } from "holdfast";
import { replaceFile, SHARED_FILES } from "./shared-files.mjs";
import { LEASE_MS, signIn, workerPids, writeNote } from "./workspace.mjs";

/** One in so many edits takes long: a good moment to be killed or frozen in. */
const SLOW_ONE_IN = 12;
const LOST = new Set(["E_LOCK_EXPIRED", "E_LOCK_NOT_HELD", "E_FENCING_MISMATCH"]);

const [root = "", name = ""] = process.argv.slice(2);
const finish = new AbortController();
signIn(root);
process.on("message", () => finish.abort());
process.on("disconnect", endWithSupervisor);
if (!process.connected) endWithSupervisor(); // Gone while this one was starting, and nobody was listening yet.
process.on("SIGINT", () => undefined); // Ctrl-C reaches the whole group; the supervisor decides.

const hf = await openHoldfast({ root, owner: `agent:${name}`, ttl: LEASE_MS, wait: "30s" });
for (let number = 1; !finish.signal.aborted; number += 1) {
  const file = SHARED_FILES[Math.floor(Math.random() * SHARED_FILES.length)];
  if (file !== undefined) await update(file, `${name}.${process.pid}.${number}`);
}
await hf.close();
process.exit();

async function update(file, id) {
  tell({ kind: "waiting", file: file.name });
  try {
    const options = { signal: finish.signal, metadata: { pid: process.pid } };
    await hf.withLock(pathKey(root, file.name), options, (lease) => edit(lease, file, id));
  } catch (error) {
    if (finish.signal.aborted) return;
    if (!isHoldfastError(error) || !(error.retryable || LOST.has(error.code))) throw error;
  }
}

async function edit(lease, file, id) {
  const path = join(root, file.name);
  const borrowed = await hf.borrow(lease.keys, lease.token);
  const isSlow = Math.random() < 1 / SLOW_ONE_IN;
  tell({ kind: "holding", file: file.name, isSlow });

  const before = readFileSync(path, "utf8");
  await sleep(isSlow ? 350 + Math.random() * 300 : 15 + Math.random() * 40);
  const after = file.add(before, { id, token: lease.fencingToken });
  const refused = await tryToWrite(lease, borrowed, () => replaceFile(path, after));

  if (refused === null) {
    writeNote(root, "acknowledged", { id, file: file.name });
    tell({ kind: "acknowledged", file: file.name });
  } else {
    const wouldErase = updatesNotIn(file, before, readFileSync(path, "utf8"));
    writeNote(root, "refused", { id, file: file.name, ...refused, wouldErase });
    tell({ kind: "refused", file: file.name, code: refused.code, wouldErase });
  }
}

/**
 * A lease that slept past its end refuses by itself. To show that this is not all that stands between a stale writer and
 * the data, the writer then insists through a borrowed hand on the same lease, which knows no time: the store decides.
 */
async function tryToWrite(lease, borrowed, write) {
  const code = await refusalOf(lease.commit(write));
  if (code === null) return null;
  const storeCode = await refusalOf(borrowed.commit(write));
  return storeCode === null ? null : { code, storeCode };
}

async function refusalOf(commit) {
  try {
    await commit;
    return null;
  } catch (error) {
    if (isHoldfastError(error) && LOST.has(error.code)) return error.code;
    throw error;
  }
}

function updatesNotIn(file, before, now) {
  const seen = new Set(file.read(before).updates.map((update) => update.id));
  return file.read(now).updates.filter((update) => !seen.has(update.id)).length;
}

function tell(message) {
  if (process.connected) process.send?.(message, () => undefined);
}

/** A frozen worker cannot see that the supervisor is gone, so the others wake it. That harms nobody else. */
function endWithSupervisor() {
  try {
    for (const pid of workerPids(root)) wake(pid);
  } finally {
    process.exit();
  }
}

function wake(pid) {
  try {
    process.kill(pid, "SIGCONT");
  } catch {
    // Long gone.
  }
}
