/**
 * A search field: its text is a parameter of the route. The text that the user types stays when new data arrives in the
 * meantime.
 */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { FROM_THE_START, replaceParams, useRoute, viewNow } from "../../route.js";

const PAUSE_MS = 200;

export function SearchField(props: {
  readonly label: string;
  readonly param: string;
  readonly hint?: string;
  readonly isWide?: boolean;
}) {
  const { label, param, hint, isWide = false } = props;
  const id = useId();
  const { view, params } = useRoute();
  const value = params.get(param) ?? "";
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);

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
      // A user who went to another view in the meantime stays there, without this search.
      if (viewNow() === view) replaceParams({ ...FROM_THE_START, [param]: text.trim() });
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
