/** Accounts of a server that may do what the roles of the store allow, and nothing else. */
import { administer, type TestServer } from "./server.js";
import { newPostgresStore } from "./stores.js";

const CREATE = `do $$ begin create role hf_agent login in role holdfast_user; create role hf_boss login in role holdfast_admin;
  create role hf_stranger login; exception when duplicate_object or unique_violation then null; end $$`;

/** hf_agent is a holdfast_user, hf_boss a holdfast_admin, hf_stranger neither. */
export async function createLoginRoles(server: TestServer): Promise<void> {
  await administer(server.url, CREATE).catch(async () => {
    // The roles come with the first store.
    await newPostgresStore(server);
    await administer(server.url, CREATE);
  });
}

/** The same store, as this account. */
export function asRole(url: string, role: string): string {
  return url.replace(/\/\/[^/@]*@/, `//${role}@`);
}
