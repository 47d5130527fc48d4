/** A key, an owner or another name of the machine's. A long one is broken where its parts end. */
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
