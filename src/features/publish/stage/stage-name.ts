/**
 * Makes the id of a publish, which also names its manifest and its stage: a UUID (version 8) whose beginning is the
 * same for all stages that this machine makes for one target in one store. So a stage whose manifest was lost in a
 * power cut is still recognized by its name, and other folders beside it are not mistaken for one.
 */
import { hash, randomUUID } from "node:crypto";
import { thisMachine } from "../../../platform/machine.js";

/** The first two groups: 48 bits. */
const BEGINNING = 13;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function newStageName(storeUrl: string, target: string): string {
  const random = randomUUID();
  return `${beginningOf(storeUrl, target)}-8${random.slice(BEGINNING + 2)}`;
}

/** Whether this machine gave the name to a stage of that target in that store. */
export function isStageName(name: string, storeUrl: string, target: string): boolean {
  return UUID.test(name) && name.startsWith(beginningOf(storeUrl, target));
}

/** The last one is kept: who publishes to a target does so again. */
let last = { storeUrl: "", target: "", beginning: "" };

function beginningOf(storeUrl: string, target: string): string {
  if (storeUrl !== last.storeUrl || target !== last.target) {
    const digest = hash("sha256", `${thisMachine().machineId}\0${storeUrl}\0${target}`);
    last = { storeUrl, target, beginning: `${digest.slice(0, 8)}-${digest.slice(8, 12)}` };
  }
  return last.beginning;
}
