/** The entry of a thread that hashes files. */
import { serveThread } from "../thread-group.js";
import { createHasher, type FileJob, type FileResult, type HasherPlace } from "./hasher.js";

serveThread<HasherPlace, FileJob, FileResult>((place) => {
  const hasher = createHasher(place);
  return { work: (job) => hasher.hash(job), finish: () => hasher.finish() };
});
