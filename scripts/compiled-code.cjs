// Makes `require` use the code that V8 compiled for the same files before, which is kept in the folder `code` beside this
// file: compiling takes a third of the time in which a daemon starts. With TRAWL_WRITE_CODE a process writes what it has
// compiled at its end, and its threads write it at that interval in ms. V8 refuses code of another version or source, and
// of other flags; it then compiles the file again.
const { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = require("node:fs");
const Module = require("node:module");
const { dirname, join, relative } = require("node:path");
const { cachedDataVersionTag, setFlagsFromString } = require("node:v8");
const vm = require("node:vm");
const { isMainThread, threadId } = require("node:worker_threads");

const folder = join(__dirname, "code");
const writesMs = Number(process.env.TRAWL_WRITE_CODE ?? 0);

/**
 * Where the header of compiled code has the hash of V8's flags. V8 writes that of the flags at the time of writing, which the daemon
 * has changed by then; a process that loads the file has those of the time of compiling.
 */
const flagBytes = [12, 16];

/**
 * In a process that writes: whether V8 keeps the compiled code of functions that are no longer called. By default it drops that after some
 * garbage collections, and what only a start calls would not be written. It is off while a file is compiled, because the code is
 * only used with the flags under which it was compiled.
 */
const keepCode = (isKept) => writesMs > 0 && setFlagsFromString(isKept ? "--no-flush-bytecode" : "--flush-bytecode");

/** Part of the name of the empty file that says that a thread has written what it has compiled. */
const writtenMark = ".written-";

/** What this thread has compiled. */
const made = new Map();

/** That file of this thread: its name begins with that of the thread's entry. */
let mark;

const compile = Module.prototype._compile;
Module.prototype._compile = function (content, filename, ...more) {
  keepCode(false);
  // The daemon changes flags of V8 while it starts, and its threads load some of the same files.
  const tag = cachedDataVersionTag();
  const name = `${relative(dirname(dirname(__dirname)), filename).replaceAll("/", "+")}.${tag}`;
  const file = join(folder, name);
  mark ??= `${file}${writtenMark}${process.pid}-${threadId}`;
  const cachedData = readCode(file);
  if (cachedData === undefined && writesMs === 0) return compile.call(this, content, filename, ...more);
  const script = new vm.Script(Module.wrap(content), {
    filename,
    cachedData,
    importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const flags = writesMs > 0 ? script.createCachedData().subarray(...flagBytes) : undefined;
  // Flags are those of the process, and another thread may be between the same two calls.
  if (flags !== undefined && cachedDataVersionTag() === tag) made.set(file, { script, flags });
  keepCode(true);
  const require = (id) => this.require(id);
  require.resolve = (...given) => Module.createRequire(filename).resolve(...given);
  require.cache = Module._cache;
  require.extensions = Module._extensions;
  require.main = process.mainModule;
  return script.runInThisContext().call(this.exports, this.exports, require, this, filename, dirname(filename));
};

function readCode(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/**
 * With the functions that have been called so far, which V8 compiles at their first call, and those in the file that was read. Threads
 * of one kind have different work, and what one has written lacks what the others have called: what is smaller does not
 * replace what is larger, and a thread that starts later adds the rest.
 */
function writeCode() {
  mkdirSync(folder, { recursive: true });
  for (const [file, { script, flags }] of made) {
    const code = script.createCachedData();
    if (code.length <= (statSync(file, { throwIfNoEntry: false })?.size ?? 0)) continue;
    code.set(flags, flagBytes[0]);
    const unfinished = `${file}-${process.pid}-${threadId}`;
    writeFileSync(unfinished, code);
    renameSync(unfinished, file);
  }
  if (!isMainThread) writeFileSync(mark, "");
}

if (writesMs > 0) {
  process.on("exit", writeCode);
  if (!isMainThread) setInterval(writeCode, writesMs).unref();
}
