/** A field to select one of a few choices: the choice is a parameter of the route. */
import { useId } from "preact/hooks";
import { FROM_THE_START, pushParams, useRoute } from "../../route.js";

export interface Choice {
  readonly value: string;
  readonly text: string;
}

export function SelectField(props: {
  readonly label: string;
  readonly param: string;
  readonly choices: readonly Choice[];
  /** The choice of a route without the parameter (default: the first one). */
  readonly usual?: string;
}) {
  const { label, param, choices, usual = choices[0]?.value } = props;
  const id = useId();
  const { params } = useRoute();
  const value = chosen(params, param, choices)?.value ?? usual;
  const choose = (next: string): void => pushParams({ ...FROM_THE_START, [param]: next === usual ? null : next });
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Returns the choice that the route names, if it is one. */
export function chosen<T extends Choice>(params: URLSearchParams, param: string, choices: readonly T[]): T | undefined {
  return choices.find(({ value }) => value === params.get(param));
}
