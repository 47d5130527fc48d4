/** `holdfast/runtime`: locks held by a name, which a restarted program resumes. */
export {
  createRuntimeLeases,
  type RuntimeLease,
  type RuntimeLeaseStatus,
  type RuntimeLeases,
} from "./features/runtime/named-leases.js";
