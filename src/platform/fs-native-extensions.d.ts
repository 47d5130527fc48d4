/** The types of `fs-native-extensions`, which has none: kernel locks on descriptors, and the exchange of two names. */
declare module "fs-native-extensions" {
  const native: {
    tryLock(fd: number, options?: { shared?: boolean }): boolean;
    tryLock(fd: number, offset: number, length: number, options?: { shared?: boolean }): boolean;
    unlock(fd: number): void;
    swapSync(from: string, to: string): void;
  };
  // biome-ignore lint/style/noDefaultExport: this is what the package has
  export default native;
}
