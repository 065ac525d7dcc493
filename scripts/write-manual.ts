/** Writes manual pages and shell completions to their installation paths below the folder given as argument. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { createProgram } from "../src/cli/main.js";
import { completions } from "../src/cli/manual/completions.js";
import { createPages } from "../src/cli/manual/manual-pages.js";

const [, , root = "", version = ""] = process.argv;

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const program = createProgram(() => undefined);
for (const [name, text] of createPages(program, version))
  write(`usr/share/man/man${name.slice(-1)}/${name}.gz`, gzipSync(text, { level: 9 }));
write("usr/share/bash-completion/completions/trawl", completions.bash(program));
write("usr/share/zsh/vendor-completions/_trawl", completions.zsh(program));
write("usr/share/fish/vendor_completions.d/trawl.fish", completions.fish(program));
