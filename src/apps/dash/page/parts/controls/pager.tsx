/** Links to the previous and the next page of a list, so that each page has an address. */
import { hrefWith } from "../../route.js";
import { number } from "../../words.js";

export function Pager({ page, pages }: { readonly page: number; readonly pages: number }) {
  if (pages <= 1) return null;
  return (
    <nav class="pager" aria-label="Pages">
      <Step to={page - 1} isThere={page > 1} text="Previous" />
      <span>
        Page {number(page)} of {number(pages)}
      </span>
      <Step to={page + 1} isThere={page < pages} text="Next" />
    </nav>
  );
}

function Step({ to, isThere, text }: { readonly to: number; readonly isThere: boolean; readonly text: string }) {
  if (!isThere) return <span class="step step-none">{text}</span>;
  return (
    <a class="step" href={hrefWith({ page: to === 1 ? null : to })}>
      {text}
    </a>
  );
}
