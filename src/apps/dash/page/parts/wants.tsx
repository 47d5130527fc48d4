/** The locks that a waiter requests: `it (write), path/src/db (read)`. */
import type { WaitsView } from "../../views.js";
import { Key } from "./key.js";

export function Wants(props: {
  readonly wants: WaitsView["waiters"][number]["wants"];
  /** The key that is spoken of anyway. */
  readonly it: string | undefined;
}) {
  const { wants, it } = props;
  return (
    <>
      {wants.map(({ resource, mode }, at) => (
        <span key={resource}>
          {at > 0 && ", "}
          {resource === it ? "it" : <Key>{resource}</Key>} <span class="quiet">({mode})</span>
        </span>
      ))}
    </>
  );
}
