/** A real browser, where one is installed: `CHROMIUM` names it, or it is found as the packages of the systems call it. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const CHROMIUM = [process.env.CHROMIUM, ...PLACES].find((path) => path !== undefined && existsSync(path));

/** Root may not have the sandbox; what is opened is a page of our own. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? "", args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}
