/** Lists the endpoints of the page: the answers of `/api/NAME`. */
import type { Query } from "../query.js";
import type { Sources } from "../sources.js";
import { audit } from "./audit.js";
import { board } from "./board.js";
import { jobs } from "./jobs.js";
import { lock } from "./lock.js";
import { locks } from "./locks.js";
import { snapshots } from "./snapshots.js";
import { timeline } from "./timeline.js";
import { waits } from "./waits.js";

export const LOOKS: Readonly<Record<string, (sources: Sources, query: Query) => Promise<object>>> = {
  locks,
  lock,
  waits,
  timeline,
  audit,
  jobs,
  board,
  snapshots,
};
