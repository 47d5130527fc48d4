/**
 * The inner door of the client: what features use beside the public calls. Features import nothing else of the store, so
 * this list is all that they can do with it.
 */
export type {
  AcquireRequest,
  Answer,
  CommandProof,
  ForeignRows,
  GrantRef,
  ListPage,
  ManifestDraft,
  ManifestPage,
  Manifests,
  NamedLeases,
  Party,
  Reader,
  Script,
  Scripts,
  Sql,
  SqlRow,
  StepTime,
  Store,
} from "../store/contract.js";
export { openForeignRows } from "../store/open.js";
