import type { CommandRow } from "../row.js";

export const RECORD: readonly CommandRow[] = [];
