/** Counts what is stated more than once: the decision to grant in SQL, and the protocols that survive a crash. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { filesOf } from "./lines.mjs";
import { without } from "./source.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const DECIDES = "decide";
const PREDICATE = "nothing_near";
/** Writes what its caller decided. */
const WRITER = "issue";
/** Puts the caller's own grant back in its place: nothing is decided. */
const OWN_GRANT = "resume_grants";

/**
 * Returns `{ statements, predicates }`, the names of SQL functions. A statement of "may this be granted" is `decide`, and
 * each function that writes a grant, itself or by a writer, and asks neither `decide` nor the shared predicate.
 */
export function measureGrantStatements() {
  const functions = filesOf("src/store/postgres/sql").flatMap((path) => functionsIn(readFileSync(ROOT + path, "utf8")));
  const writes = ({ name, body }) =>
    ![WRITER, OWN_GRANT].includes(name) && (/insert into (?:holdfast\.)?grants\b/i.test(body) || calls(body, WRITER));
  const statements = functions.filter(
    (each) => each.name === DECIDES || (writes(each) && !calls(each.body, DECIDES) && !calls(each.body, PREDICATE)),
  );
  return {
    statements: statements.map(({ name }) => name),
    predicates: functions.filter(({ name }) => name === PREDICATE).map(({ name }) => name),
  };
}

function functionsIn(text) {
  const code = without(text, ["comment"], true);
  return code
    .split(/create (?:or replace )?function /i)
    .slice(1)
    .map((part) => ({ name: /^(?:holdfast\.)?(\w+)/.exec(part)?.[1] ?? "", body: part }));
}

function calls(body, name) {
  return new RegExp(`\\bholdfast\\.${name}\\(`).test(body);
}

/** Returns the names after `protocol:` in the comments of src, each once. */
export function measureProtocols() {
  const names = filesOf("src")
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => [...readFileSync(ROOT + path, "utf8").matchAll(/^\s*(?:\/\/|\*) protocol: (.+)$/gm)])
    .map((match) => match[1].trim());
  return [...new Set(names)].sort();
}
