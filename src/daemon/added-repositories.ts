import { setImmediate } from "node:timers/promises";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { RepositoryConfig } from "../model/repository.js";
import { resolveRepository } from "./config/file-repositories.js";

/** What became of the repositories of one request. */
export interface AddedRepositories {
  readonly added: readonly string[];
  /** Those that there were already, with the same URL. */
  readonly present: readonly string[];
  /** Why others were not added; `name` is as given. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

const countMax = 1000;

/** Checking this many takes about 2 ms. */
const checkedAtOnce = 20;

/** Checks the repositories of a request; those that are invalid are refused, each with the reason. */
export async function readRepositories(
  body: unknown,
): Promise<{ readonly configs: readonly RepositoryConfig[]; readonly refused: AddedRepositories["refused"] }> {
  const items = typeof body === "object" && body !== null && "repositories" in body ? body.repositories : undefined;
  if (!Array.isArray(items) || items.length > countMax)
    throw new TrawlError("bad-request", `this takes {"repositories": [...]} with at most ${countMax} items`);
  const configs = new Map<string, RepositoryConfig>();
  const refused: AddedRepositories["refused"][number][] = [];
  for (const [at, item] of items.entries()) {
    if (at % checkedAtOnce === checkedAtOnce - 1) await setImmediate();
    try {
      const config = resolveRepository(item);
      const same = configs.get(config.name);
      if (same !== undefined && same.url !== config.url)
        throw new TrawlError("conflict", "the name stands for two URLs in this list");
      configs.set(config.name, config);
    } catch (error) {
      refused.push({ name: readName(item), reason: errorMessage(error) });
    }
  }
  return { configs: [...configs.values()], refused };
}

function readName(item: unknown): string {
  const name = typeof item === "object" && item !== null && "name" in item ? item.name : undefined;
  return typeof name === "string" ? name.slice(0, 255) : "";
}
