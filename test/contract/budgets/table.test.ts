import { describe, expect, it } from "vitest";
import { BUDGETS, expectBudgets } from "./table.fixture.js";

const { command } = BUDGETS;
const { builtins } = command["lock status"];
const withStatus = (counts: Readonly<Record<string, number>>) => ({ ...command, "lock status": counts });

describe("a budget", () => {
  it("passes when the count is the recorded one", () => {
    expect(() => expectBudgets("command", command)).not.toThrow();
  });

  it("fails when a count rises, and asks for a line in the commit body", () => {
    expect(() => expectBudgets("command", withStatus({ builtins: builtins + 1 }))).toThrow(
      `lock status: builtins rose: expected ${builtins}, found ${builtins + 1}. If that is wanted, record ${builtins + 1}, and give the reason in a line of the commit body.`,
    );
  });

  it("fails when a count falls, and asks for the new number", () => {
    expect(() => expectBudgets("command", withStatus({ builtins: builtins - 1 }))).toThrow(
      `lock status: builtins fell: expected ${builtins}, found ${builtins - 1}. Record ${builtins - 1}`,
    );
  });

  it("fails when an operation was not measured", () => {
    expect(() => expectBudgets("command", { "lock status": command["lock status"] })).toThrow(
      "the operations of command",
    );
  });

  it("fails when a count is found that is not recorded", () => {
    expect(() => expectBudgets("command", withStatus({ addons: 2 }))).toThrow("lock status: addons rose");
  });
});
