import { TrawlError } from "../base/errors.js";

/** A global id: the kind of object, and its key. Clients treat it as opaque; people copy it. */
export interface GlobalId {
  readonly kind: string;
  readonly key: unknown;
}

export function globalId(kind: string, key: unknown): string {
  return Buffer.from(`${kind}:${JSON.stringify(key)}`).toString("base64");
}

/** An id contains at most a repository, a revision and a path, whose names have a few hundred characters. */
const idCharactersMax = 8_192;

/** Throws `bad-request` for an invalid id. */
export function parseGlobalId(id: string): GlobalId {
  if (id.length > idCharactersMax)
    throw new TrawlError(
      "bad-request",
      `an id has at most ${idCharactersMax} characters; ids are returned in \`id\` fields`,
    );
  const text = Buffer.from(id, "base64").toString();
  const colon = text.indexOf(":");
  try {
    if (colon > 0) return { kind: text.slice(0, colon), key: JSON.parse(text.slice(colon + 1)) as unknown };
  } catch {
    // Handled below, like every other invalid text.
  }
  throw new TrawlError(
    "bad-request",
    `${JSON.stringify(id.slice(0, 200))} is not an id; ids are returned in \`id\` fields`,
  );
}

/** The key of an id that must be of this kind and numeric. Throws `bad-request` otherwise. */
export function numericKey(id: string, kind: string): number {
  const parsed = parseGlobalId(id);
  if (parsed.kind === kind && typeof parsed.key === "number") return parsed.key;
  throw new TrawlError(
    "bad-request",
    `${JSON.stringify(id.slice(0, 200))} is the id of a ${parsed.kind}, not of a ${kind}`,
  );
}
