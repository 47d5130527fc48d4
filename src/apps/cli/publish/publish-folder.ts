/** Publishes a copy of a folder under its lock. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { count, size } from "../../../base/count-text.js";
import { invalidArgument } from "../../../base/errors.js";
import { given } from "../../../base/given.js";
import type { Holdfast } from "../../../client/holdfast.js";
import { pathKey } from "../../../client/path-key.js";
import { publish } from "../../../features/publish/protocol.js";
import type { Publisher } from "../../../features/publish/publisher.js";
import { copyTree } from "../../../features/publish/stage/copy-tree.js";
import type { BaseContext, ContextWith, Outcome } from "../command.js";
import { openProgress } from "../output/progress.js";

interface PublishFlags {
  readonly from: string;
  readonly lock: string | undefined;
  readonly token: string | undefined;
  readonly wait: string | undefined;
  readonly ttl: string | undefined;
}

export async function publishFolder(context: ContextWith<PublishFlags, { readonly TARGET: string }>): Promise<Outcome> {
  const { flags, cwd, screen } = context;
  const target = resolve(cwd, context.args.TARGET);
  const from = resolve(cwd, flags.from);
  if (!statSync(from, { throwIfNoEntry: false })?.isDirectory()) throw invalidArgument("from", `${from} is no folder`);
  const holdfast = await context.openHoldfast();
  const key = flags.lock ?? keyOf(context, target);
  const publisher = await publisherOf(context, holdfast, key);
  const { root } = context.settings();
  const { wait, ttl } = flags;
  const progress = openProgress(screen);
  try {
    const { manifest, replaced } = await publish(
      publisher,
      target,
      (stage) => copyTree(from, stage.path, stage.signal),
      {
        onProgress: ({ phase, files, bytes }) => progress.show(`${phase}: ${count(files, "file")}, ${size(bytes)}`),
        signal: context.signal,
        ...given({ workspace: root ?? undefined, wait, ttl }),
      },
    );
    return {
      data: { manifest, replaced },
      text: () =>
        `${screen.paint("green", "published")} ${target}\n${count(manifest.file_count, "file")}, ${size(manifest.bytes)}, under ${key}, fencing token ${manifest.fencing_token}`,
    };
  } finally {
    progress.end();
  }
}

function keyOf(context: BaseContext, target: string): string {
  const { root } = context.settings();
  if (root !== null) return pathKey(root, target);
  throw invalidArgument("lock", "without a workspace a key must be named", "Add --lock KEY.");
}

/** Borrows with the given token, else from the run around this command if it holds this very key; else acquires the lock. */
async function publisherOf(
  { flags, env }: ContextWith<PublishFlags>,
  holdfast: Holdfast,
  key: string,
): Promise<Publisher> {
  const { token } = flags;
  if (token !== undefined) return holdfast.borrow(key, token);
  const around = (env.HOLDFAST_RESOURCE ?? "").split(" ");
  if (env.HOLDFAST_LEASE_TOKEN && around.includes(key)) return holdfast.borrow(key, env.HOLDFAST_LEASE_TOKEN);
  return { holdfast, key };
}
