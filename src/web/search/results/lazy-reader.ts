import { loadPart } from "../../route/load-part.js";
import { painted } from "../../ui/delay.js";
import type { FileReader } from "./file-reader.js";
import type { ResultContext } from "./result-context.js";

interface LazyReader extends Pick<ResultContext, "highlight" | "readLines"> {
  close(): void;
}

/** A `FileReader` that is loaded when it is first needed, which is after the first results were painted. */
export function lazyReader(): LazyReader {
  let made: Promise<FileReader> | undefined;
  let isClosed = false;
  const reader = (): Promise<FileReader> => {
    made ??= painted()
      .then(() => loadPart(() => import("./file-reader.js")))
      .then(({ FileReader }) => {
        const loaded = new FileReader();
        if (isClosed) loaded.close();
        return loaded;
      });
    made.catch(() => {
      made = undefined;
    });
    return made;
  };
  return {
    // Without colours the results are complete.
    highlight: (...given) => void reader().then((loaded) => loaded.highlight(...given), ignore),
    readLines: async (...given) => (await reader()).readLines(...given),
    close: () => {
      isClosed = true;
      void made?.then((loaded) => loaded.close(), ignore);
    },
  };
}

function ignore(): void {}
