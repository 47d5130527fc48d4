/** Formats holds as text. */

import { count } from "../../../../base/count-text.js";
import type { HoldEnd, HoldSpan } from "../../views.js";
import { serverNow } from "../clock.js";
import { clockTime, span as spanText } from "../time.js";
import type { Holds } from "./bars.js";

export const ENDS = ["held", "released", "lapsed", "recovered", "stolen", "broken"] as const;
export type End = (typeof ENDS)[number];

/** What stands for it on a bar. */
export const MARKS: Readonly<Record<End, string>> = {
  held: "",
  released: "",
  lapsed: "L",
  recovered: "R",
  stolen: "S",
  broken: "B",
};

export const MEANINGS: Readonly<Record<End, string>> = {
  held: "held still",
  released: "released",
  lapsed: "lapsed: its lease ran out",
  recovered: "recovered: its holder was gone",
  stolen: "stolen: the next one took it over",
  broken: "broken by a person",
};

export function endName(ended: HoldEnd): End {
  return ended ?? "held";
}

export function endText({ to, ended }: Pick<HoldSpan, "to" | "ended">): string {
  if (to === null) return "held still";
  return ended ?? "ended";
}

export function lengthText({ from, to }: HoldSpan): string {
  const ms = (to === null ? serverNow() : Date.parse(to)) - Date.parse(from);
  return ms < 1_000 ? `${Math.max(0, Math.round(ms))} ms` : spanText(ms / 1_000);
}

function holdText(hold: HoldSpan): string {
  const fence = hold.fencing_token === null ? "" : `, fence ${hold.fencing_token}`;
  const to = hold.to === null ? "now" : clockTime(hold.to, serverNow());
  return `${hold.owner}, ${hold.mode}${fence}, ${clockTime(hold.from, serverNow())} to ${to}, ${lengthText(hold)}, ${endText(hold)}`;
}

/** Of several that are drawn as one. */
export function holdsText(holds: Holds): string {
  const [first] = holds;
  if (holds.length === 1) return holdText(first);
  const owners = new Set(holds.map(({ owner }) => owner));
  const who = owners.size === 1 ? first.owner : count(owners.size, "owner");
  const ends = ENDS.flatMap((end) => {
    const many = holds.filter(({ ended }) => endName(ended) === end).length;
    return many === 0 ? [] : [`${many} ${end}`];
  });
  return `${count(holds.length, "short hold")} by ${who} from ${clockTime(first.from, serverNow())}: ${ends.join(", ")}`;
}
