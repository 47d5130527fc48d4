/** The commands that make a workspace, and that check it and the machine. */
import { resolve } from "node:path";
import { AGENT_CLIENTS } from "../../../agents/hooks/call.js";
import { type Command, command } from "../command.js";

export const SET_UP: readonly Command[] = [
  command({
    name: "init",
    group: "set-up",
    summary: "make a workspace here: .holdfast/ with the store in it",
    about: [
      "Makes .holdfast/ in --root, or at the top of the repository, or outside of one in the current folder. It opens the store and records it for all who work here, with what everybody must agree on (levels, profiles) from holdfast.config.json. In a workspace that is there already it only writes the caps of jobs into the store anew.",
      "With --store it moves a workspace to another store, while nothing is held. When the recorded store is lost, it begins a new one, whose fencing tokens start at the current time.",
      "With --agents also what agents need: lines in AGENTS.md, hooks and MCP entries of the clients that have a folder here (of all when none has), and the pre-commit hook of git. Settings files that git does not track are listed in .worktreeinclude, from which agent tools fill a new worktree. The changes are shown, and written after a yes.",
    ],
    flags: {
      agents: { type: "boolean", help: "also AGENTS.md, hooks and MCP entries, after a yes" },
      client: {
        type: "text",
        repeat: true,
        choices: AGENT_CLIENTS,
        help: "with --agents: for this client",
      },
      nested: { type: "boolean", help: "also inside another workspace, in --root or the current folder" },
      yes: { type: "boolean", help: "with --agents: write without asking" },
      "dry-run": { type: "boolean", help: "with --agents: show what would change there and write none of it" },
    },
    examples: [
      ["holdfast init", "in the folder that all agents work in"],
      ["holdfast init --agents --yes", "and set up the agents' clients"],
    ],
    async run(context) {
      const { initWorkspace } = await import("../set-up/make-workspace.js");
      return initWorkspace(context);
    },
  }),
  command({
    name: "migrate",
    group: "set-up",
    summary: "bring the store up to this version, or take it away",
    about: [
      "Opening a store of files or SQLite does the same; this shows it. On PostgreSQL nothing else does it. Migrations go forward only, and a newer schema is refused.",
      "--uninstall drops everything of holdfast from the store, and is refused while anything is held. The record goes with it.",
    ],
    flags: {
      "dry-run": { type: "boolean", help: "print what would be done and change nothing" },
      uninstall: { type: "boolean", help: "drop everything of holdfast from the store" },
    },
    examples: [["holdfast migrate --dry-run", "what would change?"]],
    async run(context) {
      const { migrateStore } = await import("../set-up/migrate-store.js");
      return migrateStore(context);
    },
  }),
  command({
    name: "config show",
    group: "set-up",
    summary: "which workspace, store, owner and settings are in force, and why",
    examples: [["holdfast config show", "why does it use that store?"]],
    async run(context) {
      const { showConfig } = await import("../set-up/show-config.js");
      return showConfig(context.workspace());
    },
  }),
  command({
    name: "selftest",
    group: "set-up",
    summary: "try on a folder what locks rest on: kernel locks, expiry, proof of death, recovery",
    about: [
      "Tries everything on the folder itself and its file system, with a second real process that is killed, in a second or two. What it makes it removes. Exit code 78 when something does not work; each failure says what to do.",
    ],
    args: { DIR: { help: "the folder to try; default the current one", optional: true } },
    examples: [["holdfast selftest /srv/shared", "may a workspace be kept here?"]],
    async run({ args, cwd, screen }) {
      const { tryFolder } = await import("../set-up/try-folder.js");
      return tryFolder(resolve(cwd, args.DIR ?? "."), screen);
    },
  }),
  command({
    name: "doctor",
    group: "set-up",
    summary: "look for what is wrong with the workspace, and mend what is safe to mend",
    about: [
      "Without --repair nothing changes, not even a time stamp. Each finding says what to do, and auto_safe whether --repair would do it: records that cannot be read (when nobody alive uses the store), locks whose holder is gone, places in line and proofs of life that were left.",
      "Exit code 0 when there is no error; with --strict a warning is a failure too (65). docs/runbook.md has a line for each finding.",
      "--after-restore is for a store that was restored from an older copy, or whose standby was behind. It finds marks with fencing tokens above the store's counters, which refuse every publish and write, raises the counters above them and writes an audit entry for each tree. Shut the lost server off first. Only a user or an admin may; on PostgreSQL the account needs holdfast_admin.",
      "`doctor hooks` proves that a denial holds: it runs the command of each installed hook as the client does, for a file that it holds itself, for a free one, and with input that cannot be understood. It names each linked worktree of the repository that lacks the settings file, or where the sandbox of Codex hides the store, with what to type. Exit code 78 when something does not hold.",
    ],
    args: { WHAT: { help: "hooks: try the installed hooks instead", optional: true, choices: ["hooks"] } },
    flags: {
      strict: { type: "boolean", help: "warnings are failures" },
      repair: { type: "boolean", help: "do what is safe, and say what was done" },
      "after-restore": {
        type: "boolean",
        help: "raise the store's fencing tokens above the marks of a history that was lost",
      },
      target: {
        type: "text",
        value: "DIR",
        repeat: true,
        help: "with --after-restore: a folder outside the workspace in which targets lie",
      },
      database: {
        type: "text",
        value: "URL",
        repeat: true,
        help: "with --after-restore: a database that openDal writes to, sqlite:PATH or postgres://…",
      },
    },
    examples: [
      ["holdfast doctor", "it says locked and nobody is there"],
      ["holdfast doctor --after-restore", "publish again after a restore"],
      ["holdfast doctor hooks", "does a denial hold?"],
    ],
    async run(context) {
      if (context.args.WHAT === "hooks") return (await import("../agents/prove-hooks.js")).proveHooksHere(context);
      const { examineWorkspace } = await import("../set-up/examine-workspace.js");
      return examineWorkspace(context);
    },
  }),
];
