import { TrawlError } from "../../base/errors.js";
import type { MetadataChange } from "../../model/metadata-change.js";
import type { Repository } from "../../model/repository.js";

type Metadata = Repository["metadata"];

const keyCharsMax = 255;
const valueCharsMax = 4096;
const pairCountMax = 1000;

/** The metadata of a repository after a change. Throws if the change is not allowed. */
export function changedMetadata(repository: Repository, change: MetadataChange): Metadata {
  const { name, configured, metadata, addedMetadata } = repository;
  const isThere = Object.hasOwn(metadata, change.key);
  const keyText = JSON.stringify(change.key.slice(0, keyCharsMax));
  if (change.kind === "add" && isThere)
    throw new TrawlError("conflict", `${name} already has metadata with the key ${keyText}; update it`);
  if (change.kind !== "add" && !isThere)
    throw new TrawlError("not-found", `${name} has no metadata with the key ${keyText}`);
  if (configured && isThere && !Object.hasOwn(addedMetadata, change.key)) {
    throw new TrawlError("conflict", `the configuration file sets the metadata ${keyText} of ${name}: change it there`);
  }
  if (change.kind !== "delete") checkPair(change.key, change.value);
  const changed = withChange(metadata, change);
  if (Object.keys(changed).length > pairCountMax)
    throw new TrawlError("bad-request", `a repository can have at most ${pairCountMax} metadata pairs`);
  return changed;
}

/** The pairs with one added, changed or removed. */
export function withChange(metadata: Metadata, change: MetadataChange): Metadata {
  if (change.kind !== "delete") return { ...metadata, [change.key]: change.value };
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== change.key));
}

function checkPair(key: string, value: string | null): void {
  if (key === "" || key.length > keyCharsMax || /[\u0000-\u001f\u007f]/.test(key) || key === "__proto__") {
    throw new TrawlError(
      "bad-request",
      `a metadata key must have 1 to ${keyCharsMax} characters, and no control characters`,
    );
  }
  if (value !== null && value.length > valueCharsMax)
    throw new TrawlError("bad-request", `a metadata value must have at most ${valueCharsMax} characters`);
}
