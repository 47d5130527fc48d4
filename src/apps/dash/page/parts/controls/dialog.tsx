/**
 * A modal dialog, which must be answered before anything else: the browser keeps the focus inside and gives it back
 * afterwards.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export function Dialog(props: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const { title, onClose, children } = props;
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);

  useEffect(() => {
    const before = document.activeElement;
    const own = dialog.current;
    own?.showModal();
    return () => {
      own?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);

  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h3 id={id}>{title}</h3>
      {children}
    </dialog>
  );
}
