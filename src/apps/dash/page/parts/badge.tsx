/** A short word that stands out: always the word, the colour only beside it. */
export type Tone = "plain" | "good" | "warn" | "bad";

export function Badge({ text, tone = "plain" }: { readonly text: string; readonly tone?: Tone }) {
  return <span class={`badge badge-${tone}`}>{text}</span>;
}
