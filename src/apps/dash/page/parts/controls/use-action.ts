/** Runs an action on the server, and reports its result. */
import { useRef, useState } from "preact/hooks";
import type { DoneView } from "../../../views.js";
import { announce } from "../../announce.js";
import { act } from "../../fetch.js";
import { askAgain } from "../../live.js";

export interface Action {
  /** How the last one went. */
  readonly said: { readonly text: string; readonly isRefusal: boolean } | null;
  /** True when it was done; nothing is done twice at once. */
  run(name: string, body: unknown): Promise<boolean>;
}

export function useAction(): Action {
  const isBusy = useRef(false);
  const [said, setSaid] = useState<Action["said"]>(null);

  const tell = (text: string, isRefusal: boolean): void => {
    setSaid({ text, isRefusal });
    announce(text);
  };

  const run = async (name: string, body: unknown): Promise<boolean> => {
    if (isBusy.current) return false;
    isBusy.current = true;
    setSaid(null);
    try {
      tell((await act<DoneView>(name, body)).done, false);
      askAgain();
      return true;
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error), true);
      return false;
    } finally {
      isBusy.current = false;
    }
  };

  return { said, run };
}
