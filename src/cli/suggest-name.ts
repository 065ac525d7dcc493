import { TrawlError } from "../base/errors.js";
import { nearestWord } from "../base/text.js";

/**
 * The result of `call`. If it fails because nothing has this name, the error names what was probably meant, of those that
 * `list` returns.
 */
export async function suggestName<T>(name: string, list: () => Promise<unknown>, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "not-found" || !error.message.includes(JSON.stringify(name)))
      throw error;
    const existing = (await list().catch(() => [])) as readonly { readonly name: string }[];
    const nearest = nearestWord(
      name,
      existing.map((one) => one.name),
    );
    if (nearest === undefined || nearest === name) throw error;
    throw new TrawlError("not-found", `${error.message}. Did you mean ${nearest}?`, { cause: error });
  }
}
