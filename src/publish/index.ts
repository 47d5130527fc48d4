/** `holdfast/publish`: folders that change as one, under a lock, with a record of what was published. */
export type { ManifestFile, ManifestRecord, ManifestState } from "../lock/manifest.js";
export {
  type BadFile,
  listManifests,
  type ManifestListOptions,
  type ManifestVerdict,
  manifestFiles,
  verifyManifests,
} from "./manifests.js";
export type { PublishOptions, PublishProgress, PublishResult } from "./options.js";
export { publish } from "./protocol.js";
export type { KeyToTake, Publisher } from "./publisher.js";
export type { Stage, StageSource } from "./stage.js";
export { findUnfinished, settleUnfinished, type UnfinishedPublish } from "./unfinished.js";
