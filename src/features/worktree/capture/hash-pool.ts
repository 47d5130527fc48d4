/**
 * Spreads files over a few hashing threads. A small amount of work is done here, without starting any: a snapshot after
 * ten changes needs no thread. Each thread writes a pack of its own, so none waits for another.
 */
import { createCrew, threadCount } from "../thread-group.js";
import { createHasher, type FileJob, type FileResult, type HasherPlace } from "./hasher.js";

/** Up to here the main thread does it alone. */
const FEW_FILES = 64;
const FEW_BYTES = 8 << 20;

export interface HashPool {
  /** Results come in any order. Null, or what to wait for before more is added. */
  add(job: FileJob): Promise<void> | null;
  /** Until every file that was added has its result. */
  drain(): Promise<void>;
  store(sha256: Buffer, content: Buffer): void;
  /** Everything is on the disk. */
  finish(): Promise<void>;
  abandon(): Promise<void>;
}

export function createHashPool(
  place: Omit<HasherPlace, "thread">,
  threads: number | null,
  onResult: (result: FileResult) => void,
): HashPool {
  const own = createHasher({ ...place, thread: 0 });
  const most = threadCount(threads);
  const setup = (thread: number): HasherPlace => ({ ...place, thread });
  const crew = createCrew<HasherPlace, FileJob, FileResult>(
    new URL("./hash.thread.js", import.meta.url),
    setup,
    most,
    onResult,
  );
  let files = 0;
  let bytes = 0;
  return {
    add(job) {
      files += 1;
      bytes += job.size;
      if (most > 0 && (files > FEW_FILES || bytes > FEW_BYTES)) return crew.add(job, job.size);
      onResult(own.hash(job));
      return null;
    },
    drain: () => crew.drain(),
    store: (sha256, content) => own.store(sha256, content),
    async finish() {
      await crew.finish();
      own.finish();
    },
    async abandon() {
      own.abandon();
      await crew.abandon();
    },
  };
}
