/** The folder a command names, under the name of whoever gives it. A deliverable needs no workspace around it. */
import { resolve } from "node:path";
import { type Deliverable, openDeliverable } from "../deliverable/index.js";
import { isHoldfastError } from "../support/errors.js";
import type { Context } from "./context.js";

export function deliverableOf(context: Context): Deliverable {
  const holder = ownerAnywhere(context);
  const deliverableId = context.flags.text("id");
  return openDeliverable(resolve(context.cwd, context.arg("DIR")), {
    ...(holder === undefined ? {} : { holder }),
    ...(deliverableId === undefined ? {} : { deliverableId }),
  });
}

/** The owner of the workspace around, when there is one. */
function ownerAnywhere(context: Context): string | undefined {
  const said = context.flags.text("owner") ?? (context.env.HOLDFAST_OWNER || undefined);
  if (said !== undefined) return said;
  try {
    return context.workspace().owner;
  } catch (error) {
    if (isHoldfastError(error, "E_CONFIG")) return undefined;
    throw error;
  }
}

/** The lease token that was given, for calls that take one. */
export function tokenOf(context: Context): { readonly token?: string } {
  const token = context.flags.text("token");
  return token === undefined ? {} : { token };
}
