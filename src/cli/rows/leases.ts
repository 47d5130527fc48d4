/** Leases by name: single-run windows. */
import type { ArgumentRow, CommandRow, FlagRow } from "../row.js";

const NAME: ArgumentRow = { name: "NAME", help: "the lease; it is the lock runtime:NAME" };
const TTL: FlagRow = {
  name: "ttl",
  type: "duration",
  help: "how long it lasts without renewal, 1s to 24h; default 15m",
};
const TOKEN: FlagRow = {
  name: "token",
  type: "text",
  help: "the token that lease acquire gave; else HOLDFAST_LEASE_TOKEN",
};

export const LEASES: readonly CommandRow[] = [
  {
    name: "lease acquire",
    group: "run",
    summary: "open a single-run window; prints its token",
    about: [
      "The holder is the owner (--owner). The same holder gets a new token and the old one dies, so two processes under one name cannot both go on. Exit code 75 while another holder has it.",
    ],
    args: [NAME],
    flags: [TTL],
    examples: [["token=$(holdfast lease acquire gates --ttl 10m)", "keep the token for renew and release"]],
    load: () => import("../commands/lease-acquire.js"),
  },
  {
    name: "lease renew",
    group: "run",
    summary: "keep the window open",
    about: ["Only with the current token; else exit code 81."],
    args: [NAME],
    flags: [{ ...TTL, help: "a new length from now on; default as before" }, TOKEN],
    examples: [['holdfast lease renew gates --token "$token"', "still at work"]],
    load: () => import("../commands/lease-renew.js"),
  },
  {
    name: "lease release",
    group: "run",
    summary: "close the window",
    about: [
      "A wrong token releases nothing, and neither does a second time: data.released is false then, and the exit code 0.",
    ],
    args: [NAME],
    flags: [TOKEN],
    examples: [['holdfast lease release gates --token "$token"', "done"]],
    load: () => import("../commands/lease-release.js"),
  },
  {
    name: "lease status",
    group: "run",
    summary: "who has the window open",
    args: [NAME],
    examples: [["holdfast lease status gates", "is it open?"]],
    load: () => import("../commands/lease-status.js"),
  },
];
