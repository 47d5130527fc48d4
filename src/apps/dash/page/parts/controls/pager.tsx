/** Links to the other pages of a list, so that each page has an address. */

import { number } from "../../../../../base/count-text.js";
import { hrefWith } from "../../route.js";

export function Pager({ page, pages }: { readonly page: number; readonly pages: number }) {
  if (pages <= 1) return null;
  const to = (next: number): string => hrefWith({ page: next === 1 ? null : next });
  return (
    <nav class="pager" aria-label="Pages">
      <Step href={page > 1 && to(page - 1)} text="Previous" />
      <span>
        Page {number(page)} of {number(pages)}
      </span>
      <Step href={page < pages && to(page + 1)} text="Next" />
    </nav>
  );
}

/** For a list whose pages begin after a number: the way back to the page before is the browser's. */
export function StepsByNumber({ hasBefore, next }: { readonly hasBefore: boolean; readonly next: number | null }) {
  if (!hasBefore && next === null) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <Step href={hasBefore && hrefWith({ after: null })} text="First page" />
      <Step href={next !== null && hrefWith({ after: next })} text="Next" />
    </nav>
  );
}

function Step({ href, text }: { readonly href: string | false; readonly text: string }) {
  if (href === false) return <span class="step step-none">{text}</span>;
  return (
    <a class="step" href={href}>
      {text}
    </a>
  );
}
