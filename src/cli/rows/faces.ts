import type { CommandRow } from "../row.js";

export const FACES: readonly CommandRow[] = [];
