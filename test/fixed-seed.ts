/** fast-check, telling the same cases in every `npm test` and sample of the soak; the whole soak tells new ones. */
import { configureGlobal } from "fast-check";

export { default as fc } from "fast-check";

const { TEST_SEED } = process.env;
if (TEST_SEED !== undefined) configureGlobal({ seed: Number(TEST_SEED) });
