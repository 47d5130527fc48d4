/** The timeline as a table, with the same content as the chart. */

import type { TimelineView } from "../../views.js";
import { ShowMore, useLimit } from "../parts/controls/show-more.js";
import { Heads } from "../parts/heads.js";
import { Key } from "../parts/key.js";
import { At } from "../parts/times.js";
import { endText, lengthText } from "./hold-words.js";

export function HoldTable({ view }: { readonly view: TimelineView }) {
  const { limit, more } = useLimit();
  const holds = view.rows.flatMap(({ resource, spans }) => spans.map((hold) => ({ resource, hold })));
  return (
    <>
      <table class="grid holds">
        <caption class="unseen">Holds, by key</caption>
        <Heads
          columns={[
            ["Key"],
            ["Owner", "wide"],
            ["Mode", "wide"],
            ["From"],
            ["To", "wider"],
            ["For", "right"],
            ["Ended"],
            ["Fence", "wider right"],
          ]}
        />
        <tbody>
          {holds.slice(0, limit).map(({ resource, hold }) => (
            <tr key={`${resource} ${hold.lock_id} ${hold.from}`} class="row">
              <th scope="row">
                <Key>{resource}</Key>
                <div class="narrow under-key">
                  {hold.mode} <Key>{hold.owner}</Key>
                </div>
              </th>
              <td class="wide">
                <Key>{hold.owner}</Key>
              </td>
              <td class="wide">{hold.mode}</td>
              <td class="nowrap">
                <At at={hold.from} />
              </td>
              <td class="wider nowrap">{hold.to === null ? "" : <At at={hold.to} />}</td>
              <td class="right nowrap">{lengthText(hold)}</td>
              <td>{endText(hold)}</td>
              <td class="wider right">{hold.fencing_token ?? ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <ShowMore hidden={holds.length - limit} onMore={more} what="holds" />
    </>
  );
}
