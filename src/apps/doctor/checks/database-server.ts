/**
 * Checks a store on a server: whether it has the functions of this version, whether the server's settings keep grants
 * through a crash, and whether its roles may call the functions.
 */
import { type Check, type Diagnosis, storeOf } from "../check.js";

export const databaseServer: Check = {
  name: "database server",
  look(patient): readonly Diagnosis[] {
    const server = storeOf(patient)?.server ?? null;
    if (server === null) return [];
    const { where } = patient.workspace;
    const found: Diagnosis[] = [];
    if (server.isOutdated)
      found.push({
        code: "STORE_OUTDATED",
        message: `the functions on ${where} are not those of this version`,
        next: ["holdfast migrate --dry-run shows what is pending, holdfast migrate does it."],
      });
    if (server.forgetful.length > 0)
      found.push({
        code: "STORE_FORGETFUL",
        message: `${where} may forget grants in a crash: ${server.forgetful.join(", ")}`,
        next: ["Set it back to on, in postgresql.conf or for the role and database that set it."],
      });
    // mutant: doctor-closed-roles: length > 0 → length > 9
    if (server.closedRoles.length > 0)
      found.push({
        code: "STORE_CLOSED",
        message: `${server.closedRoles.join(" and ")} may not call all functions on ${where}`,
        next: ["Run `holdfast migrate` with the account that owns the schema: it gives the roles their rights."],
      });
    return found;
  },
};
