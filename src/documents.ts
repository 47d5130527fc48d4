/** `holdfast/documents`: JSON files and logs that change together, whole or not at all. */
export {
  type Around,
  type Commit,
  Documents,
  type LogEntry,
  openDocuments,
  requireRevision,
  type StoredDocument,
  type Transaction,
  type UpdateOptions,
} from "./features/documents/documents.js";
