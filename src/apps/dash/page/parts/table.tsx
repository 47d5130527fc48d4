/**
 * The table of a list, from a description of its columns. A row that has details opens below itself; an open row that is no
 * longer in the answer keeps its place until it is closed.
 */
import type { ComponentChildren } from "preact";
import { Opener } from "./controls/opener.js";
import { ShowMore, useLimit } from "./controls/show-more.js";
import { useOpenRows } from "./controls/use-open-rows.js";
import { DetailsRow } from "./details-row.js";

export interface Column<T> {
  readonly title: string;
  /** Of the heading and of each cell; with `wide` or `wider` the column is there from that width of the page on. */
  readonly classes?: string;
  /** Its cell names the row. */
  readonly isName?: boolean;
  /** The text of the button that opens the row. The rest of the cell follows it. */
  readonly opener?: (row: T) => ComponentChildren;
  readonly cell?: (row: T, isGone: boolean) => ComponentChildren;
}

export function Table<T>(props: {
  /** The class that names the widths of its columns. */
  readonly name: string;
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly idOf: (row: T) => string;
  /** What the rows are the answer to: with another answer, no row is kept. */
  readonly list?: string;
  readonly details?: (row: T) => ComponentChildren;
  /** Marks a row that is kept though it is no longer in the answer. */
  readonly marksGone?: boolean;
  /** Draws a part of the rows, and says how many more of these there are. */
  readonly some?: string;
  /** In place of a table without rows. */
  readonly empty?: ComponentChildren;
}) {
  const { name, caption, columns, list = "", details, marksGone = false, some, empty } = props;
  const { rows, isOpen, toggle } = useOpenRows(list, props.rows, props.idOf);
  const { limit, more } = useLimit();
  if (rows.length === 0 && empty !== undefined) return <>{empty}</>;
  return (
    <>
      <table class={`grid ${name}`}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, classes }) => (
              <th key={title} scope="col" class={classes}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(some === undefined ? rows : rows.slice(0, limit)).map(({ id, row, isGone }) => (
            <Row
              key={id}
              row={row}
              isGone={isGone && marksGone}
              columns={columns}
              details={isOpen(id) ? details : undefined}
              detailsId={`row-${id}`}
              onToggle={() => toggle(id)}
            />
          ))}
        </tbody>
      </table>
      {some !== undefined && <ShowMore hidden={rows.length - limit} onMore={more} what={some} />}
    </>
  );
}

function Row<T>(props: {
  readonly row: T;
  readonly isGone: boolean;
  readonly columns: readonly Column<T>[];
  /** Of an open row. */
  readonly details: ((row: T) => ComponentChildren) | undefined;
  readonly detailsId: string;
  readonly onToggle: () => void;
}) {
  const { row, isGone, columns, details, detailsId: id, onToggle } = props;
  const isOpen = details !== undefined;
  return (
    <>
      <tr class={`row${isOpen ? " row-open" : ""}${isGone ? " row-gone" : ""}`}>
        {columns.map(({ title, classes, isName = false, opener, cell }) => {
          const children = (
            <>
              {opener !== undefined && (
                <Opener isOpen={isOpen} controls={id} onToggle={onToggle}>
                  {opener(row)}
                </Opener>
              )}
              {cell?.(row, isGone)}
            </>
          );
          return isName ? (
            <th key={title} scope="row" class={classes}>
              {children}
            </th>
          ) : (
            <td key={title} class={classes}>
              {children}
            </td>
          );
        })}
      </tr>
      {isOpen && (
        <DetailsRow id={id} columns={countOf(columns)}>
          {details(row)}
        </DetailsRow>
      )}
    </>
  );
}

/** Returns how many columns there are on each width of the page. */
function countOf(columns: readonly { readonly classes?: string }[]) {
  const least = columns.map(({ classes = "" }) => (/\bwider\b/.test(classes) ? 2 : /\bwide\b/.test(classes) ? 1 : 0));
  const upTo = (width: number): number => least.filter((each) => each <= width).length;
  return { narrow: upTo(0), wide: upTo(1), wider: upTo(2) };
}
