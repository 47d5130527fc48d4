/** Draws long lists a part at a time, with a button for more. */
import { useState } from "preact/hooks";
import { number } from "../../../../../base/count-text.js";

const STEP = 200;

/** How many to draw, and how to draw more of them. */
export function useLimit(step = STEP): { readonly limit: number; readonly more: () => void } {
  const [limit, setLimit] = useState(step);
  return { limit, more: () => setLimit((before) => before + step) };
}

export function ShowMore(props: { readonly hidden: number; readonly onMore: () => void; readonly what: string }) {
  const { hidden, onMore, what } = props;
  if (hidden <= 0) return null;
  return (
    <p class="more">
      <button type="button" onClick={onMore}>
        Show more
      </button>{" "}
      <span class="quiet">
        {number(hidden)} more {what}
      </span>
    </p>
  );
}
