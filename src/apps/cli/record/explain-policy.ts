/** Shows the locks that an operation needs, or lists all operations. */
import { given } from "../../../base/given.js";
import type { ContextWith, Outcome } from "../command.js";
import { columns } from "../output/text.js";
import { idsOf, policiesOf } from "./operation-arguments.js";

interface Operation {
  readonly OPERATION: string | undefined;
  readonly ID: readonly string[];
}

export async function explainPolicy(
  context: ContextWith<{ readonly objects: number | undefined }, Operation>,
): Promise<Outcome> {
  const policies = policiesOf(context);
  const { OPERATION: operation, ID: words } = context.args;
  if (operation === undefined) return listed(policies.operations);
  const { objects } = context.flags;
  const ids = idsOf(words);
  const needed = policies.explain(operation, { ids, ...given({ objects }) });
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
