/** Serves the page of `holdfast dash`, and prints the link to it. */

import { HoldfastError, invalidArgument } from "../../../base/errors.js";
import type { Workspace } from "../../../features/configuration.js";
import { packageVersion } from "../../../platform/version.js";
import { serveDash } from "../../dash/serve.js";
import { openSources } from "../../dash/sources.js";
import type { ContextWith, Outcome } from "../command.js";

const DEFAULT_PORT = 4656;

interface PageFlags {
  readonly "allow-actions": boolean;
  readonly port: number | undefined;
}

export async function servePage(context: ContextWith<PageFlags>): Promise<Outcome> {
  const { flags, screen, signal } = context;
  const { "allow-actions": allowsActions, port = DEFAULT_PORT } = flags;
  if (port < 0 || port > 65_535) throw invalidArgument("port", "from 0 to 65535");
  const workspace = context.workspace();
  const found = await context.openForReading();
  if (found === null) throw noStore(workspace);
  const holdfast = allowsActions ? await context.openHoldfast() : found;
  const sources = await openSources(holdfast, workspace);
  const tell = (link: string, about: string): void => {
    if (screen.quiet && !screen.json)
      screen.tell(`${link}\n`); // No words; without the link it would be for nobody.
    else screen.stream({ url: link }, () => `${about}: ${link}`);
  };
  const dash = await serveDash(sources, {
    port,
    allowsActions,
    page: new URL("page/", import.meta.url),
    version: packageVersion(),
    onEntered: (link) => tell(link, "for another browser"),
    onError: (error) => screen.say(`holdfast dash: ${error.message}`),
  });
  tell(dash.link, "open this once, in your browser");
  screen.say(`${allowsActions ? `actions are done as ${workspace.owner}` : "read-only"}; Ctrl-C or SIGTERM stops it`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await dash.close();
  return {};
}

/** A page of what is not there would make it, or show for ever that nothing is held. */
function noStore({ where, sources }: Workspace): HoldfastError {
  const isNamed = sources.store === "argument" || sources.store === "environment";
  return new HoldfastError("E_CONFIG", `there is nothing to look at yet: ${where} is not there`, {
    reason: "no_store",
    details: { field: "store" },
    next: isNamed ? ["Check what --store or HOLDFAST_STORE says; the first lock makes a store."] : ["holdfast init"],
  });
}
