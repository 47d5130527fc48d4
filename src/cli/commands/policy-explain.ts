/** `holdfast policy explain [OPERATION [ID…]]`. */
import type { Context, Outcome } from "../context.js";
import { idsOf, policiesOf } from "../policy-words.js";
import { columns } from "../text.js";

export async function run(context: Context): Promise<Outcome> {
  const policies = policiesOf(context);
  const [operation] = context.args("OPERATION");
  if (operation === undefined) return listed(policies.operations);
  const objects = context.flags.integer("objects");
  const ids = idsOf(context.args("ID"));
  const needed = policies.explain(operation, { ids, ...(objects === undefined ? {} : { objects }) });
  const { locks, wholeBulk, needsApproval } = needed;
  return {
    data: { operation, about: needed.about, locks, whole_bulk: wholeBulk, needs_approval: needsApproval },
    text: (screen) =>
      columns(
        locks.map(({ resource, mode }): [string, string] => [mode, resource]),
        screen.width,
      ),
    notes: [
      ...(wholeBulk ? ["held for the whole bulk, not for each edit"] : []),
      ...(needsApproval ? ["cannot be undone: needs an approval (`holdfast approve`)"] : []),
    ],
  };
}

function listed(operations: Readonly<Record<string, { readonly about: string }>>): Outcome {
  const rows = Object.entries(operations).map(([name, { about }]): [string, string] => [name, about]);
  return {
    data: { operations: rows.map(([operation, about]) => ({ operation, about })) },
    text: (screen) => columns(rows, screen.width),
  };
}
