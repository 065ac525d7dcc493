// Loaded by run-tests.mjs into each process with tests, before tap. To know to which test an exception belongs that nothing
// catches, tap follows every promise, socket and timer with hooks (async-hook-domain), which takes a tenth of the processor
// time of the processes with tests. Without these hooks it is a failure of the file, with its stack.
import hooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";
import { isMainThread } from "node:worker_threads";

// Processes that a test forks, and threads, load this too.
if (isMainThread && /(\.test\.js|\/test-folder\.mjs)$/.test(process.argv[1] ?? "")) {
  const { createHook } = hooks;
  // Tap is the first that asks for hooks.
  hooks.createHook = () => {
    setCreateHook(createHook);
    return { enable: () => undefined, disable: () => undefined };
  };
  syncBuiltinESMExports();
  process.on("uncaughtException", async (error) => {
    process.exitCode = 1;
    const { default: t } = await import("tap");
    t.fail(`nothing has caught ${error}`, { thrown: error?.stack });
  });
}

function setCreateHook(createHook) {
  hooks.createHook = createHook;
  syncBuiltinESMExports();
}
