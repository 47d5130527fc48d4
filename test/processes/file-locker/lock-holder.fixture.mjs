// Takes one file lock, says so on stdout, and keeps it until it is killed: DIR NAME exclusive|shared
import { openFileLocker } from "../../../dist/features/file-locker/file-locker.js";

const [dir, name, mode] = process.argv.slice(2);
const locker = await openFileLocker(dir);
await (mode === "shared" ? locker.lockShared(name) : locker.lockExclusive(name));
process.stdout.write("held\n");
setInterval(() => {}, 60_000);
