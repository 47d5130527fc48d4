/** Adds hook entries to a file of an agent tool and removes them, and leaves everything else as it is. */
import type { ClientFile } from "./client-entries.js";
import { isOurCommand } from "./client-entries.js";
import {
  appendAt,
  type JsonMember,
  type JsonNode,
  memberOf,
  parseJsonText,
  plainValue,
  removeMember,
  setAt,
} from "./json-text.js";

/** The file with these entries, and no older ones of ours. `null` means there is no file. */
export function withHooks(text: string | null, { empty, entries }: ClientFile): string {
  if (text !== null && text.trim() !== "" && hasExactly(text, entries)) return text;
  let next = text === null || text.trim() === "" ? empty : withoutHooks(text);
  if (empty.includes('"version"') && memberOf(parseJsonText(next), "version") === undefined)
    next = setAt(next, ["version"], 1);
  for (const [event, entry] of entries) next = appendAt(next, ["hooks", event], entry);
  return next;
}

function hasExactly(text: string, entries: ClientFile["entries"]): boolean {
  const hooks = memberOf(parseJsonText(text), "hooks");
  const isThere = ([event, entry]: ClientFile["entries"][number]): boolean =>
    memberOf(hooks, event)?.members.some(({ node }) => JSON.stringify(plainValue(node)) === JSON.stringify(entry)) ??
    false;
  return entries.every(isThere) && ourCommands(text).length === entries.length;
}

/** Every handler of ours goes, then whatever is left empty by that. */
export function withoutHooks(text: string): string {
  for (let next = text; ; ) {
    const shorter = removeOne(next);
    if (shorter === null) return next;
    next = shorter;
  }
}

/** The commands of ours in a file, by event. */
export function ourCommands(text: string): readonly (readonly [event: string, command: string])[] {
  const hooks = memberOf(parseJsonText(text), "hooks");
  return (hooks?.members ?? [])
    .flatMap(({ key, node }) =>
      node.members.flatMap((entry) =>
        handlersOf(entry.node).map((each) => [key ?? "", commandOf(each) ?? ""] as const),
      ),
    )
    .filter(([, command]) => isOurCommand(command));
}

function removeOne(text: string): string | null {
  const root = parseJsonText(text);
  const hooks = memberOf(root, "hooks");
  if (hooks === undefined) return null;
  for (const event of hooks.members)
    for (const entry of event.node.members) {
      const handlers = handlersOf(entry.node);
      const own = handlers.find((each) => isOurCommand(commandOf(each)));
      if (own === undefined) continue;
      const isAlone = handlers.length === 1 || own === entry.node;
      if (!isAlone) return removeHandler(text, entry.node, own);
      if (event.node.members.length > 1) return removeMember(text, event.node, entry);
      if (hooks.members.length > 1) return removeMember(text, hooks, event);
      return removeMember(text, root, root.members.find((member) => member.node === hooks) as JsonMember);
    }
  return null;
}

function removeHandler(text: string, entry: JsonNode, own: JsonNode): string {
  const list = memberOf(entry, "hooks") as JsonNode;
  return removeMember(text, list, list.members.find((member) => member.node === own) as JsonMember);
}

/** Some clients nest handlers in groups with a matcher, others list them. */
function handlersOf(entry: JsonNode): readonly JsonNode[] {
  const nested = memberOf(entry, "hooks");
  return nested === undefined ? [entry] : nested.members.map(({ node }) => node);
}

function commandOf(handler: JsonNode): string | null {
  const command = memberOf(handler, "command");
  const value = command === undefined ? null : plainValue(command);
  return typeof value === "string" ? value : null;
}
