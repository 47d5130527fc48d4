/** The commands of named locks (`lease …`): windows that a single run has at a time. */
import { type ArgumentSpec, type Command, command, type FlagSpec } from "../command.js";

const NAME = { help: "the lease; it is the lock runtime:NAME" } as const satisfies ArgumentSpec;
const TTL = {
  type: "duration",
  help: "how long it lasts without renewal, 1s to 24h; default 15m",
} as const satisfies FlagSpec;
const TOKEN = {
  type: "text",
  help: "the token that lease acquire gave; else HOLDFAST_LEASE_TOKEN",
} as const satisfies FlagSpec;

export const LEASES: readonly Command[] = [
  command({
    name: "lease acquire",
    group: "run",
    summary: "open a single-run window; prints its token",
    about: [
      "The holder is the owner (--owner). The same holder gets a new token and the old one dies, so two processes under one name cannot both go on. Exit code 75 while another holder has it.",
    ],
    args: { NAME },
    flags: { ttl: TTL },
    examples: [["token=$(holdfast lease acquire gates --ttl 10m)", "keep the token for renew and release"]],
    async run({ args: { NAME: name }, flags, openHoldfast }) {
      const { acquireByName } = await import("../locks/named-leases.js");
      return acquireByName(await openHoldfast(), name, flags.ttl);
    },
  }),
  command({
    name: "lease renew",
    group: "run",
    summary: "keep the window open",
    about: ["Only with the current token; else exit code 81."],
    args: { NAME },
    flags: { ttl: { ...TTL, help: "a new length from now on; default as before" }, token: TOKEN },
    examples: [['holdfast lease renew gates --token "$token"', "still at work"]],
    async run(context) {
      const { leaseToken, renewByName } = await import("../locks/named-leases.js");
      const token = leaseToken(context);
      return renewByName(await context.openHoldfast(), context.args.NAME, token, context.flags.ttl);
    },
  }),
  command({
    name: "lease release",
    group: "run",
    summary: "close the window",
    about: [
      "A wrong token releases nothing, and neither does a second time: data.released is false then, and the exit code 0.",
    ],
    args: { NAME },
    flags: { token: TOKEN },
    examples: [['holdfast lease release gates --token "$token"', "done"]],
    async run(context) {
      const { leaseToken, releaseByName } = await import("../locks/named-leases.js");
      const token = leaseToken(context);
      return releaseByName(await context.openHoldfast(), context.args.NAME, token);
    },
  }),
  command({
    name: "lease status",
    group: "run",
    summary: "who has the window open",
    args: { NAME },
    examples: [["holdfast lease status gates", "is it open?"]],
    async run({ args, openForReading }) {
      const { statusByName } = await import("../locks/named-leases.js");
      return statusByName(await openForReading(), args.NAME);
    },
  }),
];
