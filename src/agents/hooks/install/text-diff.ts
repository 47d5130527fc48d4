/** Formats the changes of a text for people: the changed lines with a little context. */

const AROUND = 2;

type Line = readonly [sign: " " | "-" | "+", text: string];

/** Empty when nothing changes. */
export function textDiff(path: string, before: string | null, after: string | null): string {
  if (before === after) return "";
  const lines = compare(linesOf(before), linesOf(after));
  const shown = lines.map((_, at) =>
    lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some(([sign]) => sign !== " "),
  );
  const body: string[] = [];
  for (const [at, [sign, text]] of lines.entries()) {
    if (shown[at]) body.push(`${sign}${text}`);
    else if (at > 0 && shown[at - 1]) body.push(" …");
  }
  return [`--- ${before === null ? "/dev/null" : path}`, `+++ ${after === null ? "/dev/null" : path}`, ...body].join(
    "\n",
  );
}

function linesOf(text: string | null): string[] {
  if (text === null || text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}

/** The longest common lines stay; files are small. */
function compare(one: readonly string[], other: readonly string[]): Line[] {
  let same = 0;
  while (same < one.length && same < other.length && one[same] === other[same]) same++;
  let tail = 0;
  while (tail < Math.min(one.length, other.length) - same && one.at(-1 - tail) === other.at(-1 - tail)) tail++;
  const middle = compareMiddle(one.slice(same, one.length - tail), other.slice(same, other.length - tail));
  const kept = (text: string): Line => [" ", text];
  return [...one.slice(0, same).map(kept), ...middle, ...one.slice(one.length - tail).map(kept)];
}

function compareMiddle(one: readonly string[], other: readonly string[]): Line[] {
  const common = one.map(() => new Array<number>(other.length + 1).fill(0));
  common.push(new Array<number>(other.length + 1).fill(0));
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (let i = one.length - 1; i >= 0; i--)
    for (let j = other.length - 1; j >= 0; j--)
      (common[i] as number[])[j] = one[i] === other[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < one.length || j < other.length) {
    if (i < one.length && j < other.length && one[i] === other[j]) {
      lines.push([" ", one[i++] as string]);
      j++;
    } else if (j < other.length && (i === one.length || at(i, j + 1) > at(i + 1, j)))
      lines.push(["+", other[j++] as string]);
    else lines.push(["-", one[i++] as string]);
  }
  return lines;
}
