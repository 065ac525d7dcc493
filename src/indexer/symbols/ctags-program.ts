import { randomBytes } from "node:crypto";
import { execFile } from "node:child_process";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { errorMessage } from "../../base/errors.js";
import { ctagsMapOption, ctagsParsers } from "./ctags-languages.js";

/** An installed universal-ctags that can extract symbols. */
export interface CtagsProgram {
  /** Its name or its path. */
  readonly command: string;
  /** The program and its version, such as `Universal Ctags 5.9.0`: with another one, symbols are extracted again. */
  readonly version: string;
  /** The parsers that it has and that are used. */
  readonly parsers: ReadonlySet<string>;
}

/** Why symbols cannot be extracted, as a sentence. */
export interface CtagsLack {
  readonly reason: string;
}

/** Listing takes 20 ms. */
const probeMs = 10_000;
const probeBytesMax = 1 << 20;

const install = "Install the Debian package universal-ctags.";

/**
 * The environment of ctags: nothing in it changes what ctags finds. A command that is a path is looked for in its folder
 * only.
 */
export function ctagsEnvironment(command: string): Record<string, string> {
  const path = command.includes("/") ? dirname(resolve(command)) : (process.env["PATH"] ?? "/usr/bin:/bin");
  return { PATH: path, LC_ALL: "C", HOME: "/nonexistent" };
}

/** The programs that this thread has found, by command. */
const found = new Map<string, CtagsProgram>();

/** Like `findCtags`; once a program is found, a change of it is noticed at the next start. */
export async function findCtagsOnce(command: string): Promise<CtagsProgram | CtagsLack> {
  const program = found.get(command) ?? (await findCtags(command));
  if (!("reason" in program)) found.set(command, program);
  return program;
}

/** Asks the program for its version, features and parsers. Never throws. */
export async function findCtags(command: string): Promise<CtagsProgram | CtagsLack> {
  let version: string | undefined;
  try {
    version = /^Universal Ctags [0-9.]+/.exec(await ask(command, "--version"))?.[0];
    if (version === undefined) return { reason: `${command} is not Universal Ctags. ${install}` };
    const features = `\n${await ask(command, "--list-features")}`;
    for (const feature of ["interactive", "sandbox"])
      if (!features.includes(`\n${feature} `))
        return { reason: `${command} (${version}) was built without the feature "${feature}". ${install}` };
    const known = new Set((await ask(command, "--list-languages")).split("\n"));
    return { command, version, parsers: new Set(ctagsParsers.filter((parser) => known.has(parser))) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      return { reason: `${command} is not installed. ${install}` };
    return { reason: `${command} cannot be used: ${errorMessage(error)}. ${install}` };
  }
}

async function ask(command: string, question: string): Promise<string> {
  const options = {
    timeout: probeMs,
    maxBuffer: probeBytesMax,
    env: ctagsEnvironment(command),
    killSignal: "SIGKILL",
  } as const;
  const { stdout } = await promisify(execFile)(command, ["--options=NONE", question], options);
  return stdout;
}

/** Begins each record, and separates the name from its container. The files do not know it, so they cannot forge it. */
export function newMark(): string {
  return `@${randomBytes(6).toString("hex")}@`;
}

/** The arguments of a child that reads requests and texts from its input, and may call nothing but read and write. */
export function ctagsArguments({ parsers }: CtagsProgram, mark: string): string[] {
  return [...symbolOptions(parsers), "--_interactive=sandbox", ...formatOptions(mark)];
}

/**
 * What decides which symbols a text has. `--options=NONE` ignores the configuration of the account. Symbols without a
 * name would get one that contains a hash of the file's name.
 */
export function symbolOptions(parsers: ReadonlySet<string>): string[] {
  return ["--options=NONE", "--extras=-{anonymous}", ...[...parsers].map(ctagsMapOption)];
}

/**
 * Plain records instead of JSON, which takes twice as long to write (0.97 s instead of 1.56 s for 258,000 symbols) and
 * leaves out names that are not UTF-8. Must follow `--_interactive`, which selects JSON.
 */
export function formatOptions(mark: string): string[] {
  return ["--output-format=xref", `--_xformat=${mark}%n\t%K\t%N${mark}%s`];
}
