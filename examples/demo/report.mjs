/** The verdict on paper. */
import { styled, wrap } from "./text.mjs";

const NAME_WIDTH = 23;
const VALUE_WIDTH = 7;

export function drawVerdict({ findings, sentence, isGood }, width) {
  return [
    styled("bold", " Verdict, from files, notes and audit chain".slice(0, width)),
    ...findings.flatMap((finding) => drawFinding(finding, width)),
    "",
    ...wrap(sentence, width - 2).map((line) => styled(["bold", isGood ? "green" : "red"], ` ${line}`)),
  ];
}

/** Mark, name, value, and the note in the room that is left: beside them, or below when that is too narrow. */
function drawFinding({ name, value, note, failure }, width) {
  const mark = failure === null ? styled("green", "✔") : styled("red", "✘");
  const head = ` ${mark} ${name.padEnd(NAME_WIDTH)}${value.padStart(VALUE_WIDTH)}`;
  const indent = 3 + NAME_WIDTH + VALUE_WIDTH + 2;
  const isRoomy = width - indent >= 30;
  const lines = wrap(failure ?? note, (isRoomy ? width - indent : width - 6) - 1);
  if (!isRoomy) return [head, ...lines.map((line) => styled("dim", `     ${line}`))];
  return [`${head}  ${lines[0] ?? ""}`.trimEnd(), ...lines.slice(1).map((line) => `${"".padEnd(indent)}${line}`)];
}
