/** Checks that the configuration can be read and agrees with the settings that the store recorded. */
import { given } from "../../../base/given.js";
import { assertAgree } from "../../../lock/settings.js";
import { type Check, type Diagnosis, storeOf } from "../check.js";

export const workspaceConfig: Check = {
  name: "workspace configuration",
  look(patient): readonly Diagnosis[] {
    const store = storeOf(patient);
    if (store === null) return [];
    const { levels, profiles } = patient.workspace.config;
    try {
      assertAgree(store.settings, {
        ...given({ levels, profiles }),
      });
      return [];
    } catch (error) {
      const next = ["Write into holdfast.config.json what the store has on record, or leave the field out."];
      return [{ code: "SETTINGS_DISAGREE", message: (error as Error).message, next }];
    }
  },
};
