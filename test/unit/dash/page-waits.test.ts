import { expect, test } from "vitest";
import {
  cutForest,
  type Forest,
  forestOf,
  type Holder,
  type HolderNode,
  type Waiter,
  type WaiterNode,
} from "../../../src/apps/dash/page/waits/forest.js";

test("DASH-1 a holder, who waits for it in order, and who waits for what those hold", () => {
  const a = held("a", "alpha");
  const b = held("b", "beta");
  const first = waits("b", [a]);
  const second = waits("c", [a, first]);
  const third = waits("d", [b]);
  expect(drawn(forestOf({ holders: [b, a], waiters: [first, second, third] }))).toEqual([
    "a holds alpha",
    "  b waits",
    "    b holds beta",
    "      d waits",
    "  c waits",
  ]);
});

test("who waits for several stands below the first and is named at the others", () => {
  const [one, two] = [held("a", "k"), held("b", "k")];
  const writer = waits("w", [one, two]);
  const reader = waits("r", [writer]);
  const forest = forestOf({ holders: [one, two], waiters: [writer, reader] });
  expect(drawn(forest)).toEqual(["a holds k", "  w waits", "    r waits", "b holds k", "  also w"]);
  expect(forest.roots[0]?.waiters[0]?.also.map(({ owner }) => owner)).toEqual(["b"]);
});

test("a circle ends where it began, and nobody is left out", () => {
  const [one, two] = [held("a", "k1"), held("b", "k2")];
  const forest = forestOf({ holders: [one, two], waiters: [waits("a", [two]), waits("b", [one])] });
  expect(drawn(forest)).toEqual(["a holds k1", "  b waits", "    b holds k2", "      a waits"]);
  const last = forest.roots[0]?.waiters[0]?.holds[0]?.waiters[0];
  expect(last?.holdsAbove.map(({ resource }) => resource)).toEqual(["k1"]);
});

test("requests that wait for each other, for themselves or for nobody that is known are shown once", () => {
  const one = waits("a", []);
  const two = waits("b", [one]);
  const circle = { ...one, waits_for: [reason(two)] };
  const own = waits("c", []);
  const self = { ...own, waits_for: [reason(own)] };
  const gone = waits("d", [held("x", "gone")]);
  const forest = forestOf({ holders: [], waiters: [circle, two, self, gone] });
  expect(drawn(forest).sort()).toEqual(["  b waits", "a waits", "c waits", "d waits"]);
});

test("only the first so many are drawn, from the top", () => {
  const a = held("a", "k");
  const line = Array.from({ length: 1_000 }, (_, at) => waits(`w${at}`, [a]));
  const forest = cutForest(forestOf({ holders: [a], waiters: line }), 200);
  expect(drawn(forest)).toHaveLength(200);
});

let tickets = 0;

function held(owner: string, resource: string): Holder {
  return { lock_id: `lock ${owner} ${resource}`, owner, resource, holder_id: `host:u:${owner}:1` } as Holder;
}

function waits(owner: string, reasons: readonly (Holder | Waiter)[]): Waiter {
  tickets += 1;
  return {
    ticket_id: `t${tickets}`,
    owner,
    holder_id: `host:u:${owner}:1`,
    wants: [],
    waits_for: reasons.map(reason),
  } as unknown as Waiter;
}

function reason(of: Holder | Waiter): Waiter["waits_for"][number] {
  const isHolder = "lock_id" in of;
  return {
    kind: isHolder ? "holder" : "waiter",
    id: isHolder ? of.lock_id : of.ticket_id,
    owner: of.owner,
    resource: "",
  };
}

function drawn({ roots, free }: Forest): string[] {
  return [...roots.flatMap((node) => holderLines(node, "")), ...free.flatMap((node) => waiterLines(node, ""))];
}

function holderLines({ holder, waiters, elsewhere }: HolderNode, indent: string): string[] {
  const below = waiters.flatMap((node) => waiterLines(node, `${indent}  `));
  return [
    `${indent}${holder.owner} holds ${holder.resource}`,
    ...below,
    ...elsewhere.map(({ owner }) => `${indent}  also ${owner}`),
  ];
}

function waiterLines({ waiter, holds, behind }: WaiterNode, indent: string): string[] {
  return [
    `${indent}${waiter.owner} waits`,
    ...holds.flatMap((node) => holderLines(node, `${indent}  `)),
    ...behind.flatMap((node) => waiterLines(node, `${indent}  `)),
  ];
}
