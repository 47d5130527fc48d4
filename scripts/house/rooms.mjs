/**
 * The rooms of src/ and what each may import: the only statement of the import law. test/unit/repository/rooms.test.ts applies it, and
 * `npm run docs` draws it in ARCHITECTURE.md. law.mjs reads the table.
 *
 * `at` is a file or a folder; `{a,b}` lists the sections of a room, and a file beside them is in no room. The first row
 * that matches a file is its room. `may` names the rooms it may import besides itself. The sections of a room with
 * `apart` do not import each other, except the pairs named there. A room with `browser` imports only modules whose
 * header says "browser-safe".
 */
const CORE = ["contract", "lock", "files", "platform", "base"];
const BELOW_CLIENT = ["lock", "files", "platform", "base"];
const LIBRARY = ["configuration", "features", "client", "open", "store", ...CORE];

// biome-ignore format: one room a line
export const ROOMS = [
  { room: "page", at: ["src/apps/dash/page/"], may: [], browser: true, text: "the page in the browser" },
  { room: "apps", at: ["src/apps/{cli,dash,doctor,selftest}/"], may: ["public", "agents", ...LIBRARY], text: "what people start" },
  { room: "agents", at: ["src/agents/{hooks,mcp,run}/"], may: LIBRARY, text: "what agent tools meet" },
  { room: "public", at: ["src/*.ts"], may: LIBRARY, text: "index.ts, and one file for each public subpath" },
  { room: "configuration", at: ["src/features/configuration.ts"], may: ["features", "client", ...BELOW_CLIENT], text: "what features read from the configuration" },
  { room: "features", at: ["src/features/{publish,worktree,board,documents,jobs,deliverable,runtime,policy,dal,otel,file-locker}/"], may: ["client", ...BELOW_CLIENT], apart: ["board → documents"], text: "each named as its public subpath" },
  { room: "client", at: ["src/client/"], may: ["open", ...CORE], text: "opening a store, leases, waiting, renewing" },
  { room: "open", at: ["src/store/open.ts"], may: ["drivers", "store", ...CORE], text: "the only module that knows the drivers by name" },
  { room: "drivers", at: ["src/store/{memory,file,sqlite,postgres}/"], may: ["store", ...CORE], apart: [], text: "one engine each" },
  { room: "contract", at: ["src/store/contract.ts", "src/store/*-contract.ts"], may: BELOW_CLIENT, text: "what a store promises" },
  { room: "store", at: ["src/store/"], may: CORE, text: "the ledger and the operations, written once for all drivers" },
  { room: "lock", at: ["src/lock/"], may: ["base"], text: "the rules, pure" },
  { room: "files", at: ["src/files/"], may: ["platform", "base"], text: "durable files, the journal, tree walks, removal" },
  { room: "platform", at: ["src/platform/"], may: ["base"], text: "clocks, kernel locks, liveness, processes" },
  { room: "base", at: ["src/base/"], may: [], text: "errors, durations, small types" },
];

/** Packages from outside and where each may be imported. Everything of `node:` is free, except in the browser. */
export const PACKAGES = {
  "@modelcontextprotocol/server": ["src/agents/mcp/"],
  "@opentelemetry/api": ["src/features/otel/"],
  "@photostructure/sqlite": ["src/store/sqlite/"],
  croner: ["src/features/jobs/"],
  "fs-native-extensions": ["src/platform/", "src/apps/selftest/"],
  ignore: ["src/features/worktree/"],
  pg: ["src/store/postgres/"],
  preact: ["src/apps/dash/page/"],
  zod: ["src/agents/mcp/"],
};

/** Modules whose values the page may import, besides those that say "browser-safe" in their header. */
export const VIEWS = "src/apps/dash/views.ts";
