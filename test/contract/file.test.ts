import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { describeStoreContract, type Tampering } from "./store-contract.fixture.js";

let folder: string;
let stores = 0;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-file-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** By other means than the store's own, as somebody with an editor would. */
function change(url: string, path: string, edit: (text: string) => string): void {
  const file = join(url.slice("file:".length), path);
  writeFileSync(file, edit(readFileSync(file, "utf8")));
}

function changeRecord(text: string, how: "unreadable" | "newer"): string {
  return how === "unreadable" ? text.slice(0, 20) : text.replace('"schema_version":1', '"schema_version":99');
}

function changeLines(text: string, how: Tampering, seq: number): string {
  const lines = text.trimEnd().split("\n");
  if (how === "edit") lines[seq - 1] = lines[seq - 1]?.replace("agent:", "robot:") ?? "";
  else if (how === "ruin") lines[seq - 1] = "{}";
  else lines.splice(seq - 1, how === "cut" ? lines.length : 1);
  return `${lines.join("\n")}\n`;
}

describeStoreContract(
  {
    name: "file",
    // The heart thread loads compiled code; test/processes/client covers it.
    options: { heart: "loop" },
    newStore: () => {
      stores += 1;
      return `file:${join(folder, String(stores))}`;
    },
    spoil: (url, key, how) => {
      const [tree = "", ...below] = key.split("/");
      change(url, join("locks", tree, "below", `${below.join(".d/")}.json`), (text) => changeRecord(text, how));
    },
    outdate: (url) => change(url, "store.json", (text) => changeRecord(text, "newer")),
    tamper: (url, tree, how, seq) =>
      change(url, join("locks", tree, "audit.jsonl"), (text) => changeLines(text, how, seq)),
  },
  { describe: describe.concurrent, it },
);
