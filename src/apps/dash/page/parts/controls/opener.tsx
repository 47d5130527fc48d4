/** The button that opens the details of a row. */
import type { ComponentChildren } from "preact";

export function Opener(props: {
  readonly isOpen: boolean;
  readonly controls: string;
  readonly onToggle: () => void;
  readonly label?: string;
  readonly children: ComponentChildren;
}) {
  const { isOpen, controls, onToggle, label, children } = props;
  return (
    <button
      type="button"
      class="opener"
      aria-expanded={isOpen}
      aria-controls={isOpen ? controls : undefined}
      aria-label={label}
      onClick={onToggle}
    >
      <svg class="chevron" viewBox="0 0 8 8" width="8" height="8" aria-hidden="true">
        <path d="M2 1l3.5 3L2 7" />
      </svg>
      <span>{children}</span>
    </button>
  );
}
