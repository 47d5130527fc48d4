/**
 * Performs an operation under exactly the locks that its rule names: acquired in order, released on success and on
 * failure.
 */

import { checkOptions, type OptionNames } from "../../base/check-options.js";
import { HoldfastError, invalidArgument } from "../../base/errors.js";
import { given } from "../../base/given.js";
import type { Holdfast } from "../../client/holdfast.js";
import type { Lease } from "../../client/lease/lease.js";
import type { AcquireOptions } from "../../client/options.js";
import { type Approved, type ApproveOptions, approve, assertApproved, useApproval } from "./approvals.js";
import { type Deployment, locksFor, type Needed, type Scope } from "./decide.js";
import { onRecord } from "./refusals.js";
import { checkPolicy, type Policy } from "./rule.js";
import { SHIPPED } from "./shipped.js";

export interface PolicyOptions {
  /** Rules of the workspace's own, added to the shipped ones. A shipped rule is not replaced. */
  readonly operations?: Policy;
  /** How many machines share the work. Not stated: operations that reach several are refused. */
  readonly deployment?: Deployment;
}

/** Of the request for the locks: as in `acquire`. */
type Request = Pick<AcquireOptions, "ttl" | "wait" | "signal" | "pid" | "within" | "metadata">;

export interface PerformOptions extends Scope, Pick<Request, "ttl" | "wait" | "signal"> {
  /** The token of an approval, for what cannot be undone. It is used up. */
  readonly approval?: string;
}

export interface BeginOptions extends PerformOptions, Request {}

const POLICIES: OptionNames<PolicyOptions> = { operations: true, deployment: true };
const APPROVE: OptionNames<ApproveOptions> = { ttl: true, reason: true };
const SCOPE: OptionNames<Scope> = { ids: true, objects: true };
const PERFORM: OptionNames<PerformOptions> = { ...SCOPE, ttl: true, wait: true, signal: true, approval: true };
const BEGIN: OptionNames<BeginOptions> = { ...PERFORM, pid: true, within: true, metadata: true };

export class Policies {
  readonly #policy: Policy;
  readonly #deployment: Deployment | null;

  /** `E_CONFIG` naming the rule that makes no sense. */
  constructor(options: PolicyOptions = {}) {
    checkOptions(options, POLICIES);
    const { operations = {}, deployment } = options;
    checkPolicy(operations);
    const replaced = Object.keys(operations).filter((name) => Object.hasOwn(SHIPPED, name));
    if (replaced.length > 0)
      throw new HoldfastError("E_CONFIG", `policy: ${replaced.join(", ")} is a shipped rule, and stays as it is`, {
        reason: "invalid_value",
        next: ["Give the workspace's own operation another name."],
      });
    if (deployment !== undefined && deployment !== "single-node" && deployment !== "multi-node")
      throw new HoldfastError("E_CONFIG", `deployment is single-node or multi-node, not ${String(deployment)}`, {
        reason: "invalid_value",
      });
    this.#policy = { ...SHIPPED, ...operations };
    this.#deployment = deployment ?? null;
  }

  /** Every operation with its rule. */
  get operations(): Policy {
    return this.#policy;
  }

  /** The locks it needs, without taking any. `E_POLICY_UNKNOWN`, `E_POLICY_AMBIGUOUS`. */
  explain(operation: string, scope: Scope): Needed {
    checkOptions(scope, SCOPE, "scope");
    return this.#locksFor(operation, scope);
  }

  #locksFor(operation: string, scope: Scope): Needed {
    return locksFor(this.#policy, operation, scope, this.#deployment);
  }

  /** Approves one performance of an operation that cannot be undone. `E_INVALID_ARGUMENT` for any other. */
  async approve(holdfast: Holdfast, operation: string, scope: Scope, options: ApproveOptions = {}): Promise<Approved> {
    checkOptions(options, APPROVE);
    const { ids, needsApproval } = this.explain(operation, scope);
    if (!needsApproval) throw invalidArgument("operation", `${operation} needs no approval`);
    return approve(holdfast, { operation, ids }, options);
  }

  /** Takes those locks and hands them over: whoever begins releases. Throws as `perform`. */
  async begin(holdfast: Holdfast, operation: string, options: BeginOptions): Promise<Lease> {
    checkOptions(options, BEGIN);
    const { ids: _ids, objects: _objects, approval: _approval, ...request } = options;
    const needed = await this.#allowed(holdfast, operation, options);
    const keys = needed.locks.map(({ resource }) => resource);
    const lease = await holdfast.acquire(keys, { ...request, mode: needed.mode });
    try {
      await this.#approved(holdfast, needed, options);
      return lease;
    } catch (error) {
      await lease.release().catch(() => undefined);
      throw error;
    }
  }

  /** Takes those locks, runs `work`, and releases them. Throws as `explain` and `acquire`, before anything runs. */
  async perform<T>(
    holdfast: Holdfast,
    operation: string,
    options: PerformOptions,
    work: (lease: Lease) => T | Promise<T>,
  ): Promise<T> {
    checkOptions(options, PERFORM);
    const needed = await this.#allowed(holdfast, operation, options);
    const keys = needed.locks.map(({ resource }) => resource);
    return holdfast.withLock(keys, { ...timesOf(options), mode: needed.mode }, async (lease) => {
      await this.#approved(holdfast, needed, options);
      return work(lease);
    });
  }

  /** Looked at before anything is locked: whoever lacks an approval is to disturb nobody. */
  async #allowed(holdfast: Holdfast, operation: string, options: PerformOptions): Promise<Needed> {
    const needed = await onRecord(holdfast, operation, options.ids, () => this.#locksFor(operation, options));
    this.#assertReach(holdfast, needed);
    // mutant: policy-approval-first: await onRecord(holdfast, operation, options.ids, () => assertApproved(holdfast, needed, options.approval)) → void assertApproved
    if (needed.needsApproval)
      await onRecord(holdfast, operation, options.ids, () => assertApproved(holdfast, needed, options.approval));
    return needed;
  }

  /** Uses the approval up that it needs. */
  async #approved(holdfast: Holdfast, needed: Needed, { approval }: PerformOptions): Promise<void> {
    if (needed.needsApproval)
      await onRecord(holdfast, needed.operation, needed.ids, () => useApproval(holdfast, needed, approval));
  }

  /** Locks in a file on one machine keep nobody out on another. */
  #assertReach({ storeUrl }: Holdfast, { operation }: Needed): void {
    if (this.#deployment !== "multi-node" || /^postgres(ql)?:/.test(storeUrl)) return;
    throw new HoldfastError(
      "E_CONFIG",
      `${operation}: a multi-node deployment keeps its locks in PostgreSQL, not in ${storeUrl}`,
      { reason: "unsupported_store", next: ["Open the store that all machines share: postgres://…"] },
    );
  }
}

function timesOf({ ttl, wait, signal }: PerformOptions): Pick<AcquireOptions, "ttl" | "wait" | "signal"> {
  return {
    ...given({ ttl, wait, signal }),
  };
}
