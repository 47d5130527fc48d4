/** Overwrites one line on the terminal while long work goes on, and prints nothing elsewhere. */
import { harmless, type Screen } from "./screen.js";
import { fitting } from "./text-width.js";

const EVERY_MS = 100;

export interface Progress {
  show(text: string): void;
  /** Takes the line away. */
  end(): void;
}

export function openProgress({ json, quiet }: Screen): Progress {
  const isOn = process.stderr.isTTY === true && !json && !quiet;
  let shownAt = Number.NEGATIVE_INFINITY;
  let isShown = false;
  return {
    show(text) {
      if (!isOn || performance.now() - shownAt < EVERY_MS) return;
      shownAt = performance.now();
      isShown = true;
      process.stderr.write(`\r\u001b[2K${fitting(harmless(text), (process.stderr.columns || 80) - 1)}`);
    },
    end() {
      if (isShown) process.stderr.write("\r\u001b[2K");
      isShown = false;
    },
  };
}
