/** `holdfast/runtime`: locks held by a name, which a restarted program takes up again. */
export {
  createRuntimeLeases,
  type RuntimeLease,
  type RuntimeLeaseStatus,
  type RuntimeLeases,
} from "./features/runtime/named-leases.js";
