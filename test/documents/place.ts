/** Folders for tests of documents, and documents at a chosen boot. */
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Documents } from "../../src/documents/documents.js";
import type { Clock } from "../../src/support/clock.js";

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), "holdfast-documents-"));
}

/** In memory where there is such a place: for sweeps, where the order of operations is what counts. */
export function newFastFolder(): string {
  return mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "holdfast-documents-"));
}

export function documentsAt(dir: string, bootId = "this boot"): Documents {
  const clock: Clock = () => ({ wallMs: Date.now(), bootMs: Date.now(), bootId, machineId: "this machine" });
  return new Documents(dir, clock);
}

export function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: "utf8" }).sort();
}
