import { signal, useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { ApiError, requestDocument } from "../api/api-error.js";

/** Whether the server has other pages than this one, because it was upgraded while this one was open. */
export const isOutdated = signal(false);

/** A page that everyone is sent, with the names of the scripts that are there. */
const documentPath = "/sign-in";

/**
 * Loads a script of the pages. Throws an `ApiError` that says why it cannot be had: names of scripts change with their
 * content, so after an upgrade those that this page knows are gone.
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    const text = await requestDocument(documentPath);
    const own = document.querySelector<HTMLScriptElement>("script[type=module]")?.getAttribute("src") ?? "";
    isOutdated.value = !text.includes(own);
    throw new ApiError(
      404,
      isOutdated.value
        ? "The server was upgraded while this page was open. Load the page again."
        : "The server did not send a part of the page.",
    );
  }
}

/** A part of the page that is loaded when it is wanted; after a failure, when it is wanted again. */
export function usePart<T>(isWanted: boolean, load: () => Promise<T>): { readonly part?: T; readonly error?: unknown } {
  const state = useSignal<{ readonly part?: T; readonly error?: unknown }>({});
  useLayoutEffect(() => {
    if (!isWanted || state.peek().part !== undefined) return;
    state.value = {};
    loadPart(load).then(
      (part) => {
        state.value = { part };
      },
      (error: unknown) => {
        state.value = { error };
      },
    );
  }, [isWanted]);
  return state.value;
}
