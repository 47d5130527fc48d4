/** The legend of the bars: which look stands for which end of a hold. */
import { ENDS, MARKS, MEANINGS } from "./hold-words.js";

export function Legend() {
  return (
    <ul class="legend" aria-label="How holds ended">
      {ENDS.map((end) => (
        <li key={end}>
          <span class={`bar bar-${end}`} aria-hidden="true">
            {MARKS[end] !== "" && <span class="mark">{MARKS[end]}</span>}
          </span>{" "}
          {MEANINGS[end]}
        </li>
      ))}
    </ul>
  );
}
