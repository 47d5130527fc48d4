/**
 * Emits the events of the library through `node:diagnostics_channel`. Nothing is built or sent while a channel has no
 * subscriber. `holdfast/otel` turns the events into OpenTelemetry metrics and spans.
 */
import { channel } from "node:diagnostics_channel";

interface AcquiredEvent {
  readonly resources: readonly string[];
  readonly mode: string;
  readonly owner: string;
  readonly waitedMs: number;
}
interface ReleasedEvent {
  readonly resources: readonly string[];
  readonly mode: string;
  readonly owner: string;
  readonly heldMs: number;
}
interface RefusedEvent {
  readonly resources: readonly string[];
  readonly owner: string;
  readonly code: string;
  readonly queueLength: number;
}
interface LostEvent {
  readonly resources: readonly string[];
  readonly owner: string;
  readonly code: string;
}
interface StolenEvent {
  readonly resource: string;
  readonly owner: string;
}

export interface Events {
  readonly acquired: AcquiredEvent;
  readonly released: ReleasedEvent;
  readonly refused: RefusedEvent;
  readonly lost: LostEvent;
  readonly ended: StolenEvent;
}

const channels = {
  acquired: channel("holdfast:acquired"),
  released: channel("holdfast:released"),
  refused: channel("holdfast:refused"),
  lost: channel("holdfast:lost"),
  ended: channel("holdfast:ended"),
};

/** `event` is only built when somebody listens. */
export function tell<Name extends keyof Events>(name: Name, event: () => Events[Name]): void {
  if (channels[name].hasSubscribers) channels[name].publish(event());
}
