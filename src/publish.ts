/** `holdfast/publish`: replaces a folder in one step, under a lock, and keeps a record of what was published. */

export type { PublishOptions, PublishProgress, PublishResult } from "./features/publish/options.js";
export { publish } from "./features/publish/protocol.js";
export type { KeyToTake, Publisher } from "./features/publish/publisher.js";
export {
  type BadFile,
  listManifests,
  type ManifestListOptions,
  type ManifestVerdict,
  manifestFiles,
  type UnfinishedTarget,
  verifyManifests,
} from "./features/publish/record/manifests.js";
export {
  findUnfinished,
  type StandingContent,
  settleUnfinished,
  type UnfinishedPublish,
} from "./features/publish/record/unfinished.js";
export type { Stage, StageSource } from "./features/publish/stage/stage.js";
export type { ManifestFile, ManifestRecord, ManifestState } from "./lock/manifest.js";
