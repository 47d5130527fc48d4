/**
 * Checks that dependencies form a graph without cycles. The check runs inside the guard, so two halves of a cycle
 * cannot both get in.
 */
import { HoldfastError } from "../../base/errors.js";

/** Of a long cycle, this many issues from each end. */
const SHOWN = 8;

/** What an issue depends on; null when there is no such issue. */
export type DependenciesOf = (id: string) => readonly string[] | null;

/** `E_CYCLE` naming the way round when `id` could be reached again from `on`. Reads only what `on` leads to. */
export function requireNoCycle(id: string, on: string, dependenciesOf: DependenciesOf): void {
  const way = wayTo(id, on, dependenciesOf);
  if (way === null) return;
  const cycle = [id, ...way];
  throw new HoldfastError("E_CYCLE", `${id} cannot depend on ${on}: ${shown(cycle)} is a cycle`, {
    details: { cycle },
    next: [id === on ? "holdfast issue list" : `holdfast issue dep rm ${cycle.at(-2)} ${cycle.at(-1)}`],
  });
}

/** The first way from one issue to another along dependencies, both included, or null. */
function wayTo(goal: string, from: string, dependenciesOf: DependenciesOf): string[] | null {
  const cameFrom = new Map<string, string | null>([[from, null]]);
  const open = [from];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    if (at === goal) return traceBack(at, cameFrom);
    for (const next of dependenciesOf(at) ?? []) {
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      open.push(next);
    }
  }
  return null;
}

function traceBack(end: string, cameFrom: ReadonlyMap<string, string | null>): string[] {
  const way: string[] = [];
  for (let at: string | null = end; at !== null; at = cameFrom.get(at) ?? null) way.unshift(at);
  return way;
}

/** `E_CYCLE` when these issues, taken together, are no graph without cycles. */
export function requireAcyclic(ids: Iterable<string>, dependenciesOf: DependenciesOf): void {
  const done = new Set<string>();
  for (const root of ids) {
    const onTheWay = new Set<string>();
    const steps: { id: string; left: string[] }[] = [];
    const enter = (id: string): void => {
      onTheWay.add(id);
      steps.push({ id, left: [...(dependenciesOf(id) ?? [])] });
    };
    if (!done.has(root)) enter(root);
    for (let step = steps.at(-1); step !== undefined; step = steps.at(-1)) {
      const next = step.left.pop();
      if (next === undefined) {
        done.add(step.id);
        onTheWay.delete(step.id);
        steps.pop();
      } else if (onTheWay.has(next)) {
        const cycle = [...steps.map(({ id }) => id), next];
        const from = cycle.indexOf(next);
        throw new HoldfastError("E_CYCLE", `${shown(cycle.slice(from))} is a cycle`, {
          details: { cycle: cycle.slice(from) },
        });
      } else if (!done.has(next)) enter(next);
    }
  }
}

/** The details have all of it; a message is read. */
function shown(cycle: readonly string[]): string {
  const [first, last] = [cycle.slice(0, SHOWN), cycle.slice(-SHOWN)];
  const left = cycle.length - 2 * SHOWN;
  return (left <= 1 ? cycle : [...first, `(${left} more)`, ...last]).join(" → ");
}
