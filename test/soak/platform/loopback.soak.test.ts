/** Servers on the loopback, and those who open a connection and then say little. */
import { createConnection, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { closeServer, createLoopbackServer, LOOPBACK, listenOnLoopback } from "../../../src/platform/loopback.js";

it("closes what asks for nothing, or never comes to an end of asking, and not what waits for its answer", async () => {
  const http = createLoopbackServer((message, response) => {
    if (message.url === "/long") setTimeout(() => response.end("at last"), 40_000);
  });
  const port = await listenOnLoopback(http, 0);
  const open = (said: string): Socket => {
    const socket = createConnection(port, LOOPBACK).on("error", () => undefined);
    socket.write(said);
    return socket.resume();
  };
  try {
    const silent = open("");
    const slow = open("GET / HTTP/1.1\r\nHost: x\r\n");
    const dripping = setInterval(() => slow.write("a: b\r\n"), 1_000);
    const waiting = fetch(`http://${LOOPBACK}:${port}/long`).then((answer) => answer.text());
    await sleep(30_000);
    clearInterval(dripping);
    expect([silent.closed, slow.closed]).toEqual([true, true]);
    expect(await waiting).toBe("at last");
  } finally {
    await closeServer(http);
  }
});
