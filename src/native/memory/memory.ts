import { crc32 as nodeCrc32 } from "node:zlib";
import { addonIfBuilt } from "../addon.js";

/**
 * The CRC-32 of zlib. libdeflate computes it at 9 to 30 GB/s, depending on whether the bytes are in a processor's cache;
 * Node's function, which is used if the addon is not built, at 2 GB/s. At most 4 GiB - 1 bytes.
 */
export function crc32(bytes: Uint8Array): number {
  return addonIfBuilt()?.crc32(bytes) ?? nodeCrc32(bytes);
}

/**
 * Reads bytes that are mapped from a file into memory, and maps them all at once: 1.5 GB that the page cache holds take
 * 20 ms, and 300 ms if each page is mapped when it is first used. Blocks until the disk has answered. Without the addon,
 * before Linux 5.14 and for pages that cannot be read it does nothing.
 */
export function populate(bytes: Uint8Array): void {
  addonIfBuilt()?.populate(bytes);
}
