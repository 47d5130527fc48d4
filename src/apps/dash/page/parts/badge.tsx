/** A short word that stands out. The word is always shown; the color only repeats it. */
export type Tone = "plain" | "good" | "warn" | "bad";

export function Badge({ text, tone = "plain" }: { readonly text: string; readonly tone?: Tone }) {
  return <span class={`badge badge-${tone}`}>{text}</span>;
}
