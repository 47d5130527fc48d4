/** Defines a kind of jobs, as this program runs it. */
import type { JobHandler, KindOptions } from "./define.js";

export interface Kind {
  readonly options: KindOptions;
  /** Here, or in a process of its own that loads this module. */
  readonly handler: JobHandler | URL;
}

/** Stands in where nobody defined it: its jobs fail, they are never taken for done. */
export const NO_SUCH_KIND: Kind = {
  options: {},
  handler: ({ kind }) => {
    throw new Error(`nobody here runs jobs of the kind ${kind}`);
  },
};
