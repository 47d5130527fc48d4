/** A table of audit entries, newest first; each row opens to all fields of its entry. */

import type { AuditView } from "../../views.js";
import { Badge, type Tone } from "../parts/badge.js";
import { Opener } from "../parts/controls/opener.js";
import { useOpenRows } from "../parts/controls/use-open-rows.js";
import { DetailsRow } from "../parts/details-row.js";
import { Facts, Json } from "../parts/facts.js";
import { Heads } from "../parts/heads.js";
import { Key } from "../parts/key.js";
import { At } from "../parts/times.js";
import { longPlace, whyOf } from "../words.js";

type Entry = AuditView["entries"][number];

const TONES: Readonly<Record<string, Tone>> = {
  refused: "warn",
  recovered: "warn",
  stolen: "warn",
  broken: "bad",
  publish_undone: "warn",
  chain_repaired: "bad",
};
const COLUMNS = { narrow: 3, wide: 5, wider: 6 };

export function EntryTable(props: {
  readonly entries: readonly Entry[];
  readonly caption: string;
  /** Among other things: without what goes without saying there. */
  readonly isShort?: boolean;
  readonly list?: string;
}) {
  const { entries, caption, isShort = false, list = "" } = props;
  const { rows, isOpen, toggle } = useOpenRows(list, entries, (entry) => entry.hash);
  return (
    <table class={isShort ? "grid grid-short entries" : "grid entries"}>
      <caption class="unseen">{caption}</caption>
      <Heads columns={[["At"], ["Event"], ["Key"], ["Owner", "wide"], ["Why", "wide"], ["Fence", "wider right"]]} />
      <tbody>
        {rows.map(({ id, row }) => (
          <EntryRow key={id} entry={row} isOpen={isOpen(id)} onToggle={() => toggle(id)} />
        ))}
      </tbody>
    </table>
  );
}

function EntryRow(props: { readonly entry: Entry; readonly isOpen: boolean; readonly onToggle: () => void }) {
  const { entry, isOpen, onToggle } = props;
  const id = `entry-${entry.hash}`;
  const why = whyOf(entry.event, entry.details);
  return (
    <>
      <tr class={isOpen ? "row row-open" : "row"}>
        <td class="nowrap">
          <Opener isOpen={isOpen} controls={id} onToggle={onToggle}>
            <At at={entry.at} />
          </Opener>
        </td>
        <td>
          <Badge text={entry.event.replaceAll("_", " ")} tone={TONES[entry.event] ?? "plain"} />
        </td>
        <th scope="row">
          <Key>{entry.resource}</Key>
          <div class="narrow under-key">
            <Key>{entry.owner}</Key>
            {why !== "" && <div>{why}</div>}
          </div>
        </th>
        <td class="wide">
          <Key>{entry.owner}</Key>
        </td>
        <td class="wide about">{why}</td>
        <td class="wider right">{entry.fencing_token ?? ""}</td>
      </tr>
      {isOpen && (
        <DetailsRow id={id} columns={COLUMNS}>
          <Facts
            facts={[
              ["number", `${entry.seq} of its chain`],
              ["at", entry.at],
              ["by", longPlace(entry.holder_id)],
              entry.lock_id === null ? null : ["lock id", <Key>{entry.lock_id}</Key>],
              entry.fencing_token === null ? null : ["fence", entry.fencing_token],
              ["details", <Json value={entry.details} />],
              ["hash", <span class="key hash">{entry.hash}</span>],
              ["hash before", <span class="key hash">{entry.prev_hash}</span>],
            ]}
          />
        </DetailsRow>
      )}
    </>
  );
}
