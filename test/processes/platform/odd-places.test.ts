/** Participants of one store that stand in different places of one kernel: each place on one store. The soak run has all. */
import {
  BESIDE,
  PLACES,
  STORES,
  testBeside,
  testInTurn,
  testJobs,
  useScratchFolder,
} from "../../fixtures/platform/odd-places.fixture.js";
import { MOUNTED_OVER } from "../../fixtures/platform/places.fixture.js";

useScratchFolder();
testBeside(BESIDE.map((place, at) => [place, STORES[at % STORES.length] ?? "file"]));
testInTurn(PLACES.slice(0, 2).map((place, at) => [place, STORES[(at + 1) % STORES.length] ?? "file"]));
testJobs([MOUNTED_OVER]);
