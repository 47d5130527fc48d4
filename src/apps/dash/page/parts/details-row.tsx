/**
 * A table row with the details of the row above. Its cell spans the columns that are visible: on a narrow screen some
 * are not.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";

/** As in css/base.css. */
const WIDE = matchMedia("(width >= 45rem)");
const WIDER = matchMedia("(width >= 76rem)");

export interface Columns {
  readonly narrow: number;
  readonly wide: number;
  readonly wider: number;
}

export function DetailsRow(props: {
  readonly id: string;
  readonly columns: Columns;
  readonly children: ComponentChildren;
}) {
  const { id, columns, children } = props;
  const [width, setWidth] = useState(widthNow);
  useEffect(() => {
    const changed = (): void => setWidth(widthNow());
    for (const query of [WIDE, WIDER]) query.addEventListener("change", changed);
    return () => {
      for (const query of [WIDE, WIDER]) query.removeEventListener("change", changed);
    };
  }, []);
  return (
    <tr class="details-row" id={id}>
      <td colSpan={columns[width]}>
        <div class="details">{children}</div>
      </td>
    </tr>
  );
}

function widthNow(): keyof Columns {
  return WIDER.matches ? "wider" : WIDE.matches ? "wide" : "narrow";
}
