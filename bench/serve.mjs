// The child's side of child.mjs: opens the contestant named on the command line and answers calls until the benchmark
// lets go of it.
import { openContestant } from "./contestants/open.mjs";

/** `calls` maps names to functions of the opened contestant and the argument. */
export function serve(calls) {
  const [contestant, folder] = process.argv.slice(2);
  let opened;
  const answer = async (name, argument) => {
    if (name === "open") opened = await openContestant(contestant, folder);
    else return calls[name](opened, argument);
  };
  process.on("message", async ({ id, name, argument }) => {
    try {
      process.send({ id, result: await answer(name, argument) });
    } catch (error) {
      process.send({ id, error: error?.stack ?? String(error) });
    }
  });
  process.on("disconnect", async () => {
    await opened?.close();
    process.exit(0);
  });
}
