/**
 * Lists the tools in the order that agent tools see. There are at most fourteen, and none breaks a lock or changes the
 * policy.
 */
import type { Tool } from "./tool.js";
import { auditList } from "./tools/audit-list.js";
import { issueAdd } from "./tools/issue-add.js";
import { issueClaim } from "./tools/issue-claim.js";
import { issueList } from "./tools/issue-list.js";
import { issueShow } from "./tools/issue-show.js";
import { issueUpdate } from "./tools/issue-update.js";
import { lockAcquire } from "./tools/lock-acquire.js";
import { lockConvert } from "./tools/lock-convert.js";
import { lockList } from "./tools/lock-list.js";
import { lockRelease } from "./tools/lock-release.js";
import { lockRenew } from "./tools/lock-renew.js";
import { lockStatus } from "./tools/lock-status.js";
import { operationBegin } from "./tools/operation-begin.js";
import { policyExplain } from "./tools/policy-explain.js";

export const TOOLS: readonly Tool[] = [
  lockAcquire,
  lockRelease,
  lockRenew,
  lockConvert,
  lockStatus,
  lockList,
  operationBegin,
  policyExplain,
  issueList,
  issueShow,
  issueAdd,
  issueClaim,
  issueUpdate,
  auditList,
];
