/** The heading of a view, with a line of numbers beside it. It gets the focus when the user goes to the view. */
import type { ComponentChildren } from "preact";

export const VIEW_TITLE = "view-title";

export function ViewHeading({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="view-head">
      <h2 id={VIEW_TITLE} tabIndex={-1}>
        {title}
      </h2>
      {children !== undefined && <p class="summary">{children}</p>}
    </div>
  );
}
