/**
 * The frame of a view: its heading with a summary, its filters, the answer of the server, and the message to a screen
 * reader when a search has its result.
 */
import type { ComponentChildren } from "preact";
import { useSearchResult } from "../announce.js";
import type { Live } from "../live.js";
import { ViewHeading } from "./heading.js";
import { Answer } from "./messages.js";

export function View<T>(props: {
  readonly title: string;
  readonly live: Live<T>;
  readonly summary: (data: T) => ComponentChildren;
  /** What was searched, and the result in words, or null before there is one. */
  readonly search?: { readonly what: string; readonly result: (data: T) => string | null };
  readonly filters?: ComponentChildren;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { title, live, summary, search, filters, children } = props;
  const { data, isCurrent } = live;
  useSearchResult(search?.what ?? "", data === null || !isCurrent ? null : (search?.result(data) ?? null));
  return (
    <>
      <ViewHeading title={title}>{data === null ? "" : summary(data)}</ViewHeading>
      {filters !== undefined && <Filters>{filters}</Filters>}
      <Answer live={live}>{children}</Answer>
    </>
  );
}

export function Filters({ children }: { readonly children: ComponentChildren }) {
  return <search class="tools">{children}</search>;
}
