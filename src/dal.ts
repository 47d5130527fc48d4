/** `holdfast/dal`: rows of the caller's own database, read and written only under a lease that covers them. */
export { Dal, type DalOptions, openDal, type ReadOptions } from "./features/dal/dal.js";
