/** The entry of the command `holdfast`. */
import { main } from "./run.js";

void main(process.argv.slice(2)).then((exit) => {
  process.exitCode = exit;
});
