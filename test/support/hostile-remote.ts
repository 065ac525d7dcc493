/**
 * A hostile remote, as if reached through ssh. As a program it speaks the start of git's protocol (version 0) on its
 * standard streams, and then performs the attack that its argument selects.
 */
import { createHash, randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import type { Test } from "tap";
import { sleep } from "../../src/base/deadline.js";

export type Harm = keyof typeof harms;

const head = createHash("sha1").update("a commit that nobody has").digest("hex");

/** An `sshCommand` that runs it for any host. */
export function sshTo(t: Test, harm: Harm): string {
  return sshRunning(t, `'${harm}'`);
}

/** The same, but the path selects the attack, see `hostileUrl`. */
export function sshToAny(t: Test): string {
  return sshRunning(t, '"$@"');
}

export function hostileUrl(harm: Harm): string {
  return `git@example.org:${pathOf(harm)}`;
}

function pathOf(harm: string): string {
  return harm.replaceAll(" ", "-");
}

/** Without the compiler, as the range that Node 24 reserves for code exceeds the limit on the memory of git's children. */
function sshRunning(t: Test, args: string): string {
  const folder = mkdtempSync(join(tmpdir(), "trawl-hostile-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "ssh");
  writeFileSync(
    path,
    `#!/bin/sh\n[ "$1" = -G ] && exit 0\nexec '${process.execPath}' --jitless '${fileURLToPath(import.meta.url)}' '${folder}' ${process.pid} ${args}\n`,
  );
  chmodSync(path, 0o755);
  return path;
}

function packet(bytes: Buffer | string): Buffer {
  const content = Buffer.from(bytes);
  return Buffer.concat([Buffer.from((content.length + 4).toString(16).padStart(4, "0")), content]);
}

/** Resolves when the pipe accepts more data; ends the program if the reader has gone. */
function send(bytes: Buffer | string): Promise<void> {
  return new Promise((resolve) => {
    if (process.stdout.write(bytes)) resolve();
    else process.stdout.once("drain", resolve);
  });
}

async function advertise(): Promise<void> {
  await send(packet(`${head} HEAD\0side-band-64k ofs-delta symref=HEAD:refs/heads/main\n`));
  await send(packet(`${head} refs/heads/main\n`));
  await send("0000");
}

/** Writes bytes of the pack to their channel. */
const data = (bytes: Buffer): Promise<void> => send(packet(Buffer.concat([Buffer.from([1]), bytes])));
const progress = (text: string): Promise<void> => send(packet(`\x02${text}`));

function packHeader(objectCount: number): Buffer {
  const header = Buffer.from("PACK\0\0\0\x02\0\0\0\0", "latin1");
  header.writeUInt32BE(objectCount, 8);
  return header;
}

/** The header of an object: type (1 is a commit, 2 a tree, 3 a blob) and size. */
function objectHeader(type: number, size: number): Buffer {
  const bytes: number[] = [];
  let [low, rest] = [(type << 4) | (size & 15), Math.floor(size / 16)];
  for (; rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push(low | 128);
    low = rest & 127;
  }
  return Buffer.from([...bytes, low]);
}

const periodMs = 50;

const harms = {
  "endless references": async () => {
    // A million short ones would take this process, which compiles nothing, most of a minute beside other work.
    const long = "b".repeat(8_000);
    for (let i = 0; ; i++) await send(packet(`${head} refs/heads/${long}${i}${i === 0 ? "\0side-band-64k" : ""}\n`));
  },
  silence: () => sleep(2 ** 30),
  "mere signs of life": async () => {
    for (; ; await sleep(periodMs)) {
      await data(Buffer.alloc(0));
      await progress("still here\n");
    }
  },
  "a byte now and then": async () => {
    const content = randomBytes(1 << 20);
    await data(Buffer.concat([packHeader(1_000), objectHeader(3, content.length)]));
    for (const byte of deflateSync(content, { level: 0 })) {
      await data(Buffer.from([byte]));
      await sleep(periodMs);
    }
  },
  "counts that grow for ever": async () => {
    for (let i = 0; ; i++, await sleep(periodMs)) await progress(`Counting objects: ${i}\r`);
  },
  "an endless pack": async () => {
    await data(packHeader(100_000));
    for (;;) {
      const content = randomBytes(32_000);
      await data(Buffer.concat([objectHeader(3, content.length), deflateSync(content, { level: 0 })]));
    }
  },
  "an object of 3 GiB": async () => {
    await data(packHeader(200));
    await data(Buffer.concat([objectHeader(2, 3 * 2 ** 30), deflateSync(Buffer.alloc(60_000)).subarray(0, 40)]));
    for (; ; await sleep(periodMs)) await progress("still here\n");
  },
};

async function run(harm: Harm): Promise<void> {
  process.stdout.on("error", () => process.exit());
  if (harm === "endless references") return harms[harm]();
  await advertise();
  let asked = "";
  for await (const part of process.stdin) {
    asked += String(part);
    if (asked === "0000") return;
    if (!asked.includes("done\n")) continue;
    await send(packet("NAK\n"));
    await harms[harm]();
  }
}

/** Ends this process when the test has removed the folder or its process has ended: a daemon that is killed leaves git running. */
function endWithTest(folder: string, pid: number): void {
  setInterval(() => {
    if (!existsSync(folder) || !existsSync(`/proc/${pid}`)) process.exit();
  }, 200).unref();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  endWithTest(process.argv[2] ?? "", Number(process.argv[3]));
  const asked = process.argv.at(-1) ?? "";
  const harm = Object.keys(harms).find((name) => asked.includes(name) || asked.includes(pathOf(name)));
  await run(harm as Harm);
}
