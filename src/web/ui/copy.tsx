import { useSignal } from "@preact/signals";
import { callAfter } from "./delay.js";

const confirmationMs = 1500;

/** Copies the text. Resolves with whether the browser has done it: it may refuse, and cannot where the page came without TLS. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Why a text was not copied. */
export function copyRefusal(): string {
  return window.isSecureContext ? "The browser refused" : "The browser copies only from HTTPS";
}

/** Copies a text, and says whether that was done. */
export function CopyButton({ text }: { readonly text: string }) {
  const said = useSignal("");
  const copy = async (): Promise<void> => {
    said.value = (await copyText(text)) ? "Copied" : copyRefusal();
    callAfter(confirmationMs, () => (said.value = ""));
  };
  return (
    <>
      <button type="button" class="button" onClick={() => void copy()}>
        Copy
      </button>
      <span class="soft small" role="status">
        {said.value}
      </span>
    </>
  );
}

/** A text as one word of a shell, whatever it holds. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
