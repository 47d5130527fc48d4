/** `holdfast gate add NAME [-- CMD …]`. */
import { openTheBoard } from "../board.js";
import type { Context, Outcome } from "../context.js";
import { gateTable } from "../issue-text.js";

export async function run(context: Context): Promise<Outcome> {
  const { flags, rest } = context;
  const { board } = await openTheBoard(context);
  const [description, timeout] = [flags.text("description"), flags.text("timeout")];
  const gate = await board.defineGate({
    name: context.arg("NAME"),
    ...(description === undefined ? {} : { description }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(rest.length === 0 ? {} : { command: rest }),
  });
  return { data: { gate }, text: (screen) => gateTable([gate], screen) };
}
