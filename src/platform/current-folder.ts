/** Returns the current folder of this process. Throws `E_IO` when it was removed. */
import { ioError } from "../base/errors.js";

export function currentFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw ioError(error, "find", "the current folder");
  }
}
