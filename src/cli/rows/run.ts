import type { CommandRow } from "../row.js";

export const RUN: readonly CommandRow[] = [];
