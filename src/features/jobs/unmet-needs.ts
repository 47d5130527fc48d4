/**
 * Names what keeps a job from a worker, in words: the command and the page show it. Browser-safe.
 *
 * A worker records in the store what it has: a label for each kind that it defines, `commands` when it runs commands, and
 * the labels that it was started with. Of a job whose needs no live worker meets, `unmet_needs` has what is missing.
 */

/** What a job that is a command needs: a worker that runs such, which is what `holdfast worker` does. */
export const COMMANDS = "commands";
const KIND = "kind:";

export function kindLabel(kind: string): string {
  return `${KIND}${kind}`;
}

export function unmetText(unmet: readonly string[]): string {
  const others = unmet.filter((label) => label !== COMMANDS && !label.startsWith(KIND));
  if (unmet.includes(COMMANDS)) {
    const has = others.map((label) => ` --has ${label}`);
    return `no worker is there to run it; start one: holdfast worker${has.join("")}`;
  }
  const kind = unmet.find((label) => label.startsWith(KIND));
  if (kind === undefined) return `no live worker has ${others.join(", ")}`;
  const besides = others.length === 0 ? "" : `, and none that could has ${others.join(", ")}`;
  return `no live worker runs the kind ${kind.slice(KIND.length)}${besides}`;
}
