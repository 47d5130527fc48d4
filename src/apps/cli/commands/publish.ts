/** The commands that publish folders and compare them with what was published. */
import { type Command, command } from "../command.js";

export const PUBLISH: readonly Command[] = [
  command({
    name: "publish",
    group: "publish",
    summary: "replace a folder by another in one step, under its lock",
    about: [
      "Copies DIR to a place beside TARGET, syncs every file, and then, in one step with the check of lease and fence, gives it TARGET's name. Readers of TARGET see the old tree or the new one, never neither. What was there before is removed afterwards. A manifest with the hash of every file stays on record.",
      "The lock is taken for it and given back, unless --token or the run around it holds the key. The first publish to a TARGET records its key; later ones must use the same, or one above it.",
    ],
    args: { TARGET: { help: "the folder to make or replace, never the workspace itself; its parent must be there" } },
    flags: {
      from: { type: "text", value: "DIR", help: "the folder with the new content", required: true },
      lock: { type: "text", value: "KEY", help: "the key to publish under; default the path's own, path/…" },
      token: { type: "text", help: "the lease token of one who holds KEY" },
      wait: { type: "duration", help: "how long to wait in line; 0 not at all; default 5s" },
      ttl: { type: "duration", help: "how long the lease lasts without renewal; default 30s" },
    },
    examples: [
      ["holdfast publish public --from build", "under the key path/public"],
      ["holdfast publish /srv/site --from build --lock site", "outside the workspace a key must be named"],
    ],
    async run(context) {
      const { publishFolder } = await import("../publish/publish-folder.js");
      return publishFolder(context);
    },
  }),
  command({
    name: "manifest list",
    group: "publish",
    summary: "what was published where, by whom, and what is under way",
    about: ["Oldest first. Of each target the newest and a few before it are kept; the audit has all."],
    args: { TARGET: { help: "only of this folder", optional: true } },
    flags: {
      state: { type: "text", choices: ["pending", "committed", "aborted"], help: "only these" },
      limit: { type: "integer", help: "at most this many; default 1000" },
      after: {
        type: "text",
        value: "CREATED_AT/ID",
        help: "go on behind this one: data.next of the page before",
      },
    },
    examples: [["holdfast manifest list public", "its last few publishes"]],
    async run(context) {
      const { listManifestsOf } = await import("../publish/manifests.js");
      return listManifestsOf(context);
    },
  }),
  command({
    name: "manifest verify",
    group: "publish",
    summary: "read what is published again and compare it with its manifest",
    about: [
      "Takes no lock. Where the content of a publish that was not finished stands, the files are compared with its manifest, and it is named on stderr; that alone is no fault. Exit code 65 when a file is missing, different, or was never published; 89 when nothing was published to TARGET.",
    ],
    args: { TARGET: { help: "only this folder", optional: true } },
    examples: [["holdfast manifest verify", "every target"]],
    async run(context) {
      const { verifyManifestsOf } = await import("../publish/manifests.js");
      return verifyManifestsOf(context);
    },
  }),
];
