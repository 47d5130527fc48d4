/** How an action went; a screen reader is told by the announcer. */
import type { Action } from "./use-action.js";

export function Said({ said }: Pick<Action, "said">) {
  if (said === null) return null;
  return <p class={said.isRefusal ? "said said-refused" : "said said-done"}>{said.text}</p>;
}
