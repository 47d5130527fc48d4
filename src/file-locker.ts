/** `holdfast/file-locker`: kernel locks on files, without leases and without a store. */
export {
  type FileGuard,
  type FileLocker,
  type FileLockerOptions,
  type FileLockMode,
  type FileLockOptions,
  openFileLocker,
} from "./features/file-locker/file-locker.js";
