import { afterEach, beforeEach, expect, it } from "vitest";
import { newPlace, type Place } from "../../fixtures/board/board.fixture.js";
import { harass } from "../../fixtures/board/killed-workers.fixture.js";

let place: Place;
beforeEach(async () => {
  place = await newPlace();
});
afterEach(() => place.close());

it("BOARD-2 SIGKILL anywhere: no corruption, no cycle, every acknowledged save is there", {
  timeout: 300_000,
}, async () => {
  expect(await harass(place, { workers: 3, forMs: 1_500 })).toBeGreaterThan(2);
});
