/**
 * The route of the page: the view and its parameters, `#/locks?text=maps&page=2`. It is in the address, so that back,
 * reload and bookmarks work.
 */
import { createCell, useCell } from "./cell.js";

export interface Route {
  readonly view: string;
  readonly params: URLSearchParams;
}

export type Params = Readonly<Record<string, string | number | null | undefined>>;

/** What a new search or choice begins with: the first page of its list. */
export const FROM_THE_START: Params = { page: null, after: null };

/** Before what reads it: bundled, it would be undefined there and not an error. */
const FIRST_VIEW = "locks";

const route = createCell(parseRoute(location.hash));

window.addEventListener("hashchange", () => route.set(parseRoute(location.hash)));

function parseRoute(hash: string): Route {
  const [, view = "", query = ""] = /^#\/([^?]*)\??(.*)$/.exec(hash) ?? [];
  return { view: view || FIRST_VIEW, params: new URLSearchParams(query) };
}

export function useRoute(): Route {
  return useCell(route);
}

/** Where the address leads; what is drawn follows a moment later. */
export function viewNow(): string {
  return parseRoute(location.hash).view;
}

/** What is empty is left out. */
export function queryOf(params: Params): string {
  const kept = Object.entries(params).filter(([, value]) => value !== "" && value != null);
  return new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
}

export function hrefOf(view: string, params: Params = {}): string {
  const query = queryOf(params);
  return `#/${view}${query === "" ? "" : `?${query}`}`;
}

/** The same view with other parameters. */
export function hrefWith(patch: Params): string {
  const { view, params } = parseRoute(location.hash);
  return hrefOf(view, { ...Object.fromEntries(params), ...patch });
}

/** While somebody types, the way back is not filled with half words. */
export function replaceParams(patch: Params): void {
  history.replaceState(null, "", hrefWith(patch));
  route.set(parseRoute(location.hash));
}

export function pushParams(patch: Params): void {
  location.hash = hrefWith(patch);
}
