/** The first opener of a workspace, killed before each step. */
import { describe } from "vitest";
import { testKilledOpeners } from "../../fixtures/client/first-openers.fixture.js";
import { IS_SAMPLE, sample } from "../../fixtures/sample.fixture.js";

describe.each(["sqlite", "file"] as const)(`the first opener of a %s store${sample("every second step")}`, (kind) =>
  testKilledOpeners(kind, IS_SAMPLE ? 2 : 1),
);
