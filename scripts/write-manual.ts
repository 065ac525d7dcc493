/** Writes manual pages and shell completions to their installation paths below the folder given as argument. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { createProgram } from "../src/cli/main.js";
import { manualOf } from "./manual.js";

const [, , root = "", version = ""] = process.argv;

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const { pages, bash, zsh, fish } = manualOf(
  createProgram(() => undefined),
  version,
);
for (const [name, text] of pages) write(`usr/share/man/man${name.slice(-1)}/${name}.gz`, gzipSync(text, { level: 9 }));
write("usr/share/bash-completion/completions/trawl", bash);
write("usr/share/zsh/vendor-completions/_trawl", zsh);
write("usr/share/fish/vendor_completions.d/trawl.fish", fish);
