/** Milliseconds of the monotonic clock, which all processes of the machine share. */
export function sharedMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}
