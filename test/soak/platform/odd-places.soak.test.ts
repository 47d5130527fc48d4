/** Participants of one store that stand in different places of one kernel: each place on each store. */
import {
  BESIDE,
  PLACES,
  STORES,
  type Stands,
  testBeside,
  testInTurn,
  testJobs,
  useScratchFolder,
} from "../../fixtures/platform/odd-places.fixture.js";
import type { Place } from "../../fixtures/platform/places.fixture.js";
import { IS_SAMPLE } from "../../fixtures/sample.fixture.js";

/** A sample takes the stores that `npm test` leaves out. */
const onStores = (places: readonly Place[], shift: number): Stands =>
  places.flatMap((place, at) =>
    STORES.filter((_, store) => !IS_SAMPLE || store === (at + shift) % STORES.length).map(
      (store) => [place, store] as const,
    ),
  );

useScratchFolder();
testBeside(onStores(BESIDE, 1));
testInTurn(onStores(PLACES, 0));
testJobs(PLACES);
