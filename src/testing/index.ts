export { describeStoreContract, type StoreUnderTest, type TestRunner } from "./store-contract.js";
