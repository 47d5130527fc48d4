/** Gives errors of system calls a code and the name of the operation; other errors are passed on. */
import { ioError } from "../../base/errors.js";

export function systemError(error: unknown, doing: string, path: string): unknown {
  return isOfSystem(error) ? ioError(error, doing, path) : error;
}

function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  return typeof (error as NodeJS.ErrnoException | null)?.syscall === "string";
}

/** The same verbs, and no error leaves one of them without a code, whichever call of the system failed. */
export function withCodes<Verbs extends object>(verbs: Verbs, place: string): Verbs {
  const coded = (error: unknown): unknown =>
    isOfSystem(error) ? ioError(error, String(error.syscall), error.path ?? place) : error;
  return new Proxy(verbs, {
    get(target, name, receiver) {
      const value: unknown = Reflect.get(target, name, receiver);
      if (typeof value === "object" && value !== null) return withCodes(value, place);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        try {
          const result: unknown = value.apply(target, args);
          return result instanceof Promise ? result.catch((error: unknown) => Promise.reject(coded(error))) : result;
        } catch (error) {
          throw coded(error);
        }
      };
    },
  });
}
