/** Doing an operation under exactly the locks its rule names: taken in order, released on success and on failure. */
import type { Holdfast } from "../lease/holdfast.js";
import type { Lease } from "../lease/lease.js";
import type { AcquireOptions } from "../lease/options.js";
import { parseKey } from "../lock/key.js";
import type { Mode } from "../lock/mode.js";
import { createNodeOrder } from "../lock/order.js";
import { HoldfastError } from "../support/errors.js";
import { type Deployment, locksFor, type Needed, type Scope } from "./decide.js";
import { checkPolicy, type Policy } from "./rule.js";
import { SHIPPED } from "./shipped.js";

export interface PolicyOptions {
  /** Rules of the workspace's own, added to the shipped ones. A shipped rule is not replaced. */
  readonly operations?: Policy;
  /** How many machines share the work. Not stated: operations that reach several are refused. */
  readonly deployment?: Deployment;
}

export type PerformOptions = Scope & Pick<AcquireOptions, "ttl" | "wait" | "signal">;

export class Policies {
  readonly #policy: Policy;
  readonly #deployment: Deployment | null;

  /** `E_CONFIG` naming the rule that makes no sense. */
  constructor({ operations = {}, deployment }: PolicyOptions = {}) {
    checkPolicy(operations);
    const replaced = Object.keys(operations).filter((name) => Object.hasOwn(SHIPPED, name));
    if (replaced.length > 0)
      throw new HoldfastError("E_CONFIG", `policy: ${replaced.join(", ")} is a shipped rule, and stays as it is`, {
        next: ["Give the workspace's own operation another name."],
      });
    if (deployment !== undefined && deployment !== "single-node" && deployment !== "multi-node")
      throw new HoldfastError("E_CONFIG", `deployment is single-node or multi-node, not ${String(deployment)}`);
    this.#policy = { ...SHIPPED, ...operations };
    this.#deployment = deployment ?? null;
  }

  /** Every operation with its rule. */
  get operations(): Policy {
    return this.#policy;
  }

  /** The locks it needs, without taking any. `E_POLICY_UNKNOWN`, `E_POLICY_AMBIGUOUS`. */
  explain(operation: string, scope: Scope): Needed {
    return locksFor(this.#policy, operation, scope, this.#deployment);
  }

  /** Takes those locks, runs `work`, and releases them. Throws as `explain` and `acquire`, before anything runs. */
  async perform<T>(
    holdfast: Holdfast,
    operation: string,
    options: PerformOptions,
    work: (leases: readonly Lease[]) => T | Promise<T>,
  ): Promise<T> {
    const needed = this.explain(operation, options);
    this.#assertReach(holdfast, needed);
    const leases: Lease[] = [];
    try {
      for (const { keys, mode } of inSteps(needed, holdfast.home.store.settings.levels))
        leases.push(await (leases.at(-1) ?? holdfast).acquire(keys, { ...timesOf(options), mode }));
      const result = await work(leases);
      for (const lease of leases.splice(0).reverse()) await lease.release();
      return result;
    } catch (error) {
      for (const lease of leases.reverse()) await lease.release().catch(() => undefined);
      throw error;
    }
  }

  /** Locks in a file on one machine keep nobody out on another. */
  #assertReach({ storeUrl }: Holdfast, { operation }: Needed): void {
    if (this.#deployment !== "multi-node" || /^postgres(ql)?:/.test(storeUrl)) return;
    throw new HoldfastError(
      "E_CONFIG",
      `${operation}: a multi-node deployment keeps its locks in PostgreSQL, not in ${storeUrl}`,
      {
        next: ["Open the store that all machines share: postgres://…"],
      },
    );
  }
}

interface Step {
  readonly keys: string[];
  readonly mode: Mode;
}

/** All locks of one mode are one request. Where modes differ, they are taken one after the other in the global order. */
function inSteps({ locks }: Needed, levels: readonly string[]): Step[] {
  const order = createNodeOrder(levels);
  const sorted = [...locks].sort((one, other) => order(parseKey(one.resource), parseKey(other.resource)));
  const steps: Step[] = [];
  for (const { resource, mode } of sorted) {
    const last = steps.at(-1);
    if (last?.mode === mode) last.keys.push(resource);
    else steps.push({ keys: [resource], mode });
  }
  return steps;
}

function timesOf({ ttl, wait, signal }: PerformOptions): Pick<AcquireOptions, "ttl" | "wait" | "signal"> {
  return {
    ...(ttl === undefined ? {} : { ttl }),
    ...(wait === undefined ? {} : { wait }),
    ...(signal === undefined ? {} : { signal }),
  };
}
