/** The command `run`, which runs another command under locks. */
import { type Command, command } from "../command.js";

export const RUN: readonly Command[] = [
  command({
    name: "run",
    group: "run",
    summary: "hold locks while a command runs",
    about: [
      "Takes all KEYs or none, runs CMD, and gives the locks back. Input, output and signals are the command's, and so is the exit code: 128 and the number for a signal, 127 when there is no such command, 126 when it cannot be executed.",
      "When the locks are not to be had the exit code is 75 and CMD is not started. When the lease is lost, CMD and all it started are ended, and the exit code is 80 or 81, whatever CMD returned.",
      "What CMD leaves running is ended with it: its process group, and whoever still has the descriptor open that CMD inherits (number 100 or the next free one). Even when holdfast itself is killed the locks stay until the last of them has ended. A daemon that is to outlive the run leaves the group and closes what it inherited.",
      "CMD sees HOLDFAST_RESOURCE, HOLDFAST_FENCING_TOKEN (separated by blanks, in the order of the KEYs) and HOLDFAST_LEASE_TOKEN. A run inside a run sees its own; on a key that the outer one covers it nests.",
      "With --stage DIR, CMD runs in a private copy of DIR (also named in HOLDFAST_STAGE). When it returns 0 and the lease is still held, the copy is published as DIR in one step under the first KEY, and what changed is told; otherwise DIR stays as it was. If others have changed DIR meanwhile nothing is published, exit code 83.",
    ],
    args: { KEY: { help: "a lock to hold, such as project:alpha/map:m1 or deploy", many: true } },
    flags: {
      mode: { type: "text", choices: ["read", "upgradeable", "write"], help: "default write" },
      ttl: { type: "duration", help: "how long the lease lasts without renewal; default 30s" },
      wait: { type: "duration", help: "how long to wait in line; 0 not at all; default 5s" },
      stage: {
        type: "text",
        value: "DIR",
        help: "run CMD in a private copy of DIR, which replaces DIR at once when CMD succeeds and is thrown away otherwise",
      },
      linger: { type: "boolean", help: "wait for what CMD leaves running instead of ending it" },
      report: { type: "text", value: "FILE", help: "write the JSON of the run there when it is over" },
      "conflict-exit-code": { type: "integer", help: "instead of 75 when the locks are not to be had" },
      meta: { type: "pairs", help: "kept in the record of the lock" },
    },
    rest: { name: "CMD", help: "the command and its arguments" },
    examples: [
      ["holdfast run deploy -- ./deploy.sh", "only one deployment at a time"],
      ["holdfast run --wait 10m project:alpha -- make maps", "wait in line for up to ten minutes"],
      ["holdfast run site --stage public -- npm run render", "readers of public/ see the old pages or the new ones"],
      ["holdfast run --wait 0 --conflict-exit-code 0 nightly -- ./nightly.sh", "skip it when it runs already"],
    ],
    async run(context) {
      const { runUnderLocks } = await import("../publish/run-under-locks.js");
      return runUnderLocks(context);
    },
  }),
];
