/** A search field. The text that the user types stays when new data arrives in the meantime. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useRoute, viewNow } from "../../route.js";

const PAUSE_MS = 200;

export function SearchField(props: {
  readonly label: string;
  readonly value: string;
  readonly onSearch: (text: string) => void;
  readonly hint?: string;
  readonly isWide?: boolean;
}) {
  const { label, value, onSearch, hint, isWide = false } = props;
  const id = useId();
  const { view } = useRoute();
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  const search = useRef(onSearch);
  search.current = onSearch;

  useEffect(() => {
    if (timer.current === null) setTyped(value);
  }, [value]);
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current);
    },
    [],
  );

  const change = (text: string, pauseMs: number): void => {
    setTyped(text);
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = null;
      // Whoever went to another view meanwhile does not come back for it, nor take it along.
      if (viewNow() === view) search.current(text.trim());
    }, pauseMs);
  };

  return (
    <div class={isWide ? "field field-wide" : "field"}>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={typed}
        placeholder={hint}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={(event) => change(event.currentTarget.value, PAUSE_MS)}
        onChange={(event) => change(event.currentTarget.value, 0)}
      />
    </div>
  );
}
