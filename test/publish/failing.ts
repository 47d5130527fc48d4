/** Publishing while one operation fails, by a publisher that lives on. */
import { expect } from "vitest";
import { listManifests, publish } from "../../src/publish/index.js";
import { HoldfastError } from "../../src/support/errors.js";
import { type FaultKind, faults } from "../fixtures/fault-injection.mjs";
import { type Course, named, prepare } from "./sweep.js";
import { debrisAt, KEY, removeScene, treeOf, verifiedVersion, versionAt } from "./world.js";

const ERRNOS = ["EIO", "ENOSPC", "EDQUOT", "EXDEV"] as const;

interface Failure {
  readonly at: number;
  readonly what: FaultKind;
  readonly call: string;
}

/** Fails one operation after the other. Returns how many failures there were. */
export async function failEverywhere(
  base: string,
  course: Course,
  { every, allErrnos }: { readonly every: number; readonly allErrnos: boolean },
): Promise<number> {
  const calls = (await failOnce(base, course, { at: 0, what: "none", call: "" })).seen;
  let count = 0;
  for (let index = 0; index < calls.length; index += every) {
    const call = calls[index] ?? "";
    const errnos: readonly FaultKind[] = allErrnos ? ERRNOS : [ERRNOS[(index / every) % ERRNOS.length] ?? "EIO"];
    for (const what of call.startsWith("writeSync") ? [...errnos, "short" as const] : errnos) {
      count += 1;
      const failure = { at: index + 1, what, call };
      await named(`${what} at ${index + 1} of ${calls.length}, ${call}`, async () => {
        await failOnce(base, course, failure);
      });
    }
  }
  return count;
}

async function failOnce(base: string, course: Course, failure: Failure): Promise<{ seen: readonly string[] }> {
  const scene = await prepare(base, course);
  const client = await scene.open();
  const lease = await client.acquire(KEY, { ttl: "24h" });
  faults.arm({ at: failure.at, what: failure.what, changesOnly: false });
  const error: unknown = await publish(lease, scene.target, treeOf("new")).then(
    () => null,
    (reason: unknown) => reason,
  );
  const { seen } = faults.disarm();
  const found = versionAt(scene.target);
  if (error === null) expect(found).toBe("new");
  else expectTold(error, failure, found, course.replaces ? "old" : null);
  expectNoSecondSync(seen, failure);

  await publish(lease, scene.target, treeOf("again"));
  expect(await verifiedVersion(client, scene.target)).toBe("again");
  expect(await listManifests(client, { state: "pending" })).toEqual([]);
  await client.close();
  expect(debrisAt(scene.target)).toEqual([]);
  removeScene(scene);
  return { seen };
}

function expectTold(error: unknown, { what }: Failure, found: string | null, old: string | null): void {
  if (!(error instanceof HoldfastError) && !isOwnOfTheFiller(error))
    throw new Error("the error has no code", { cause: error });
  if (error instanceof HoldfastError && error.code === "E_COMMIT_UNCERTAIN") {
    expect(found).toBe("new");
    return;
  }
  expect(found).toBe(old);
  if (error instanceof HoldfastError && error.code === "E_IO") expect(error.details).toMatchObject({ errno: what });
}

/** The test writes one file into the stage by itself. */
function isOwnOfTheFiller(error: unknown): boolean {
  return /\/(by-hand|empty)$/.test((error as NodeJS.ErrnoException).path ?? "");
}

/** A sync that failed is final. The stage's own files are synced once each, and both parents at the commit. */
function expectNoSecondSync(seen: readonly string[], { at, what }: Failure): void {
  const call = seen[at - 1] ?? ""; // On a busy machine there may be another look in between: what counts is what happened.
  if (what === "none" || !/^fsync(Sync)? place/.test(call)) return;
  const path = call.split(" ")[1];
  expect(seen.slice(at).filter((later) => /^fsync/.test(later) && later.split(" ")[1] === path)).toEqual([]);
}
