/** A key, an owner or another machine-made name. A long one breaks at the end of its parts. */
import { Fragment } from "preact";

export function Key({ children }: { readonly children: string }) {
  const parts = children.split(/(?<=[/:@])/);
  return (
    <span class="key">
      {parts.map((part, at) => (
        <Fragment key={`${at} ${part}`}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}
