/** Reads gates and their runs. Acquires no lock. */

import { HoldfastError } from "../../../base/errors.js";
import type { Transaction } from "../../documents/documents.js";
import { documentPath } from "../../documents/names.js";
import type { BoardFiles } from "../board-files.js";
import { type Issue, notFound } from "../issue.js";
import { requireGates } from "../issue-shape.js";
import type { Gate, GateRegistry, GateRun } from "./gate.js";

/** The gates of the registry by name, sorted. Takes no lock. */
export async function listGates(board: BoardFiles): Promise<readonly Gate[]> {
  const registry = await board.documents.get<GateRegistry>("gates");
  const gates = gatesOf(registry?.value, documentPath(board.documents.dir, "gates"));
  return Object.values(gates).sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The same by name, inside a step that looks at them. */
export function gatesIn(tx: Transaction): GateRegistry["gates"] {
  // mutant: board-gates-look-moves: tx.peek<GateRegistry>("gates") → tx.get<GateRegistry>("gates")
  return gatesOf(tx.peek<GateRegistry>("gates")?.value);
}

/** Inside a step that is to change them: what cannot be read is moved aside. */
export function gatesToChange(tx: Transaction): GateRegistry["gates"] {
  return gatesOf(tx.get<GateRegistry>("gates")?.value);
}

function gatesOf(registry: GateRegistry | undefined, path = "gates.json"): GateRegistry["gates"] {
  if (registry === undefined) return {};
  requireGates(registry, path);
  return registry.gates;
}

export async function findGate(board: BoardFiles, name: string): Promise<Gate> {
  const gate = (await listGates(board)).find((each) => each.name === name);
  if (gate === undefined) throw notFound("gate", name);
  return gate;
}

/** The last run of an automatic gate for an issue, or null. */
export async function lastRun(board: BoardFiles, id: string, name: string): Promise<GateRun | null> {
  return (await board.documents.get<GateRun>(runDocument(id, name)))?.value ?? null;
}

export function runDocument(id: string, gate: string): string {
  return `runs/${id}/${gate}`;
}

export function requireGate(issue: Issue, name: string): void {
  if (Object.hasOwn(issue.gates, name)) return;
  throw new HoldfastError("E_NOT_FOUND", `issue ${issue.id} has no gate ${name}`, {
    details: { issue: issue.id, gate: name },
    next: [`holdfast issue update ${issue.id} --add-gate ${name}`],
  });
}
