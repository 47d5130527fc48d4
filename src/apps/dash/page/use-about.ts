/** Requests the server's description of itself, once: again only until there is an answer. */
import { useEffect, useState } from "preact/hooks";
import type { AboutView } from "../views.js";
import { ask, connection, Refused } from "./fetch.js";

const AGAIN_MS = 1_000;

export function useAbout(): { readonly about: AboutView | null; readonly refusal: Refused | null } {
  const [about, setAbout] = useState<AboutView | null>(null);
  const [refusal, setRefusal] = useState<Refused | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const turn = async (): Promise<void> => {
      try {
        setAbout(await ask<AboutView>("/api/about"));
        setRefusal(null);
      } catch (error) {
        if (error instanceof Refused) setRefusal(error);
        if (!connection.get().isOver) timer = setTimeout(turn, AGAIN_MS);
      }
    };
    void turn();
    return () => clearTimeout(timer);
  }, []);
  return { about, refusal };
}
