/**
 * Makes the binary of uWebSockets.js for the running Node, or for that of `--arch=NAME` (target.mjs), load with glibc 2.36 (Debian 12); it was linked with glibc 2.38.
 *
 * It needs three functions of that release: strtol, strtoul and sscanf as C23 defines them, which also read binary numbers
 * such as 0b1. Nothing in it reads numbers of that form, so it is given the same functions of C99, which are in every glibc.
 * The hashes are those of the files that this was written for, before and after.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { takeTarget } from "./target.mjs";

const known = {
  // Node 20, 22 and 24 on x64
  "5b126ee00bf754b02e97e4c27090365a8562c5820c93f93918ac2212d4503e91":
    "0b40a7ff2a1e1d38e8d34ac9b69bf5cf757fcbbbe56fe3bc981ee5c664ebf314",
  "4b55b1f2cb7a7913febbb65a89496412b96af77e838552980092ba6b33723aac":
    "65537716292c5b3d9ee617914eeed1e4496f092f001c33504e8a9a0f12780f59",
  "98128405dba2fb608448e921a979530f70c946a2cc9889c15f2fa70c2d00ab05":
    "2630bb59236deeadf501d6abaf79c1a655b4a0b78579fba408eea84d1a30f6ca",
  // and on arm64
  "6bdbc8ff976b4371af1906175e9025804bacc38a414969f4f02314e6b99f206c":
    "eaa12cdd49c20a8fb1485dc055cc141ae85b64e2db245630085f93fec9e6601d",
  "82b79bd18d1e3563de336156005bd01b7f39fc387b65173d69a29da4ee79f895":
    "9f8b29f1112b1e27138abd232d8cfbef4a405d5633625f38d19dba7d759a4c0b",
  "88618b30ddf6b2b62310db89f40a701616676352aac5e0f6184dd8ef876199ce":
    "50691cb2ed74d2e1711806a07a3f3c6419db5fd63d776c171912f9c097fd270a",
};

const { target } = takeTarget(process.argv.slice(2));
const path = join(target.tree, `node_modules/uWebSockets.js/uws_linux_${target.arch}_${target.abi}.node`);
if (!existsSync(path)) fail(`${path} does not exist: uWebSockets.js has no binary for this Node on this system`);
const bytes = readFileSync(path);
const before = sha256(bytes);
if (!Object.values(known).includes(before)) {
  const after = known[before];
  relink(bytes);
  if (after === undefined || sha256(bytes) !== after)
    fail(
      `${path} (SHA-256 ${before}, changed ${sha256(bytes)}) is not the file that scripts/build-uws.mjs was written for`,
    );
  // Checkouts may share the file by hard links.
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}

/** Changes a shared library for a 64-bit little-endian processor in place. */
function relink(bytes) {
  const sections = sectionsOf(bytes);
  const strings = sections.find(({ type, flags }) => type === 3 && (flags & 2n) !== 0n);
  const text = (offset) => bytes.toString("latin1", strings.offset + offset, bytes.indexOf(0, strings.offset + offset));
  // Versions that are needed: a record for each library, and a list of versions after each.
  const needed = [];
  const needs = sections.find(({ type }) => type === 0x6ffffffe);
  for (let file = needs.offset; ; file += bytes.readUInt32LE(file + 12)) {
    for (let at = file + bytes.readUInt32LE(file + 8); ; at += bytes.readUInt32LE(at + 12)) {
      const version = text(bytes.readUInt32LE(at + 8));
      needed.push({ at, library: text(bytes.readUInt32LE(file + 4)), version, index: bytes.readUInt16LE(at + 6) });
      if (bytes.readUInt32LE(at + 12) === 0) break;
    }
    if (bytes.readUInt32LE(file + 12) === 0) break;
  }
  const inLibc = (version) => needed.find((entry) => entry.version === version && entry.library === "libc.so.6");
  const newest = inLibc("GLIBC_2.38");
  const oldest = inLibc("GLIBC_2.2.5") ?? inLibc("GLIBC_2.17");
  const symbols = sections.find(({ type }) => type === 11);
  const versions = sections.find(({ type }) => type === 0x6fffffff);
  for (let symbol = 0; symbol < symbols.size / 24; symbol++) {
    if (bytes.readUInt16LE(versions.offset + 2 * symbol) !== newest.index) continue;
    const at = symbols.offset + 24 * symbol;
    const symbolName = text(bytes.readUInt32LE(at));
    if (!/^__isoc23_(strtol|strtoul|sscanf)$/.test(symbolName)) fail(`${path} needs ${symbolName} of glibc 2.38`);
    bytes.writeUInt32LE(bytes.readUInt32LE(at) + "__isoc23_".length, at);
    bytes.writeUInt16LE(oldest.index, versions.offset + 2 * symbol);
  }
  // The entry remains, and names the oldest version, too: hash and name.
  bytes.copy(bytes, newest.at, oldest.at, oldest.at + 4);
  bytes.copy(bytes, newest.at + 8, oldest.at + 8, oldest.at + 12);
}

function sectionsOf(bytes) {
  const start = Number(bytes.readBigUInt64LE(0x28));
  return Array.from({ length: bytes.readUInt16LE(0x3c) }, (_, section) => {
    const at = start + 0x40 * section;
    return {
      type: bytes.readUInt32LE(at + 4),
      flags: bytes.readBigUInt64LE(at + 8),
      offset: Number(bytes.readBigUInt64LE(at + 24)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
    };
  });
}

function sha256(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
