/**
 * Compares the boots that records were made in. A boot id is the kernel's own, or empty where it is unknown: an unknown boot
 * equals none, not even another unknown one, and is not from before a restart.
 */
export interface Origin {
  readonly bootId: string;
  readonly machineId: string;
}

type Boot = Pick<Origin, "bootId">;

/** Of one boot of one kernel: monotonic clocks and pids compare. */
export function isSameBoot(one: Boot, other: Boot): boolean {
  // mutant: boot-unknown-is-one: return one.bootId !== "" && → return
  return one.bootId !== "" && one.bootId === other.bootId;
}

/** Of two boots for certain. */
export function isOtherBoot(one: Boot, other: Boot): boolean {
  // mutant: boot-unknown-is-old: return one.bootId !== "" && other.bootId !== "" && → return
  return one.bootId !== "" && other.bootId !== "" && one.bootId !== other.bootId;
}

/** Of this machine before its restart. */
export function isBeforeRestart(then: Origin, now: Origin): boolean {
  return isOtherBoot(then, now) && then.machineId === now.machineId;
}

/** Of another machine, as far as the ids tell. Containers on one kernel share the boot, and are one machine. */
export function isElsewhere(one: Origin, other: Origin): boolean {
  return !isSameBoot(one, other) && one.machineId !== other.machineId;
}
