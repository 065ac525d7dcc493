import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

export function programVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return version;
}

/** Identical for each start with this data directory. */
export function siteId(dataFolder: string): string {
  return createHash("sha256").update(`${hostname()}\0${dataFolder}`).digest("hex").slice(0, 32);
}
