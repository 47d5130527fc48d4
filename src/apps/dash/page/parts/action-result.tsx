/** The result of an action, as text. A screen reader gets it from the announcer. */
import type { Action } from "./controls/use-action.js";

export function Said({ said }: Pick<Action, "said">) {
  if (said === null) return null;
  return <p class={said.isRefusal ? "said said-refused" : "said said-done"}>{said.text}</p>;
}
