import { isAbsolute } from "node:path";
import { TrawlError } from "../base/errors.js";
import { requireUrlPart } from "../base/path-text.js";

/** Where the objects of a fleet are. Plain data. */
export type ObjectAddress =
  | { readonly kind: "folder"; readonly path: string }
  | {
      readonly kind: "s3";
      /** The URL of the bucket without a slash at its end, perhaps with the beginning of all keys. */
      readonly url: string;
      readonly region: string;
    };

const usual = "https://HOST/BUCKET, perhaps with ?region=REGION, or file:///FOLDER for a folder that all nodes share";

/** Parses the address of a store of objects. Throws `bad-config`. */
export function parseObjectAddress(text: string): ObjectAddress {
  if (!URL.canParse(text)) throw bad(`it must be ${usual}`);
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    throw bad("it must not have the key, which is in fleet.objectsCredential");
  if (url.hash !== "") throw bad(`it must be ${usual}`);
  if (url.protocol === "file:") {
    const path = decode(url.pathname);
    if (url.host !== "" || url.search !== "" || !isAbsolute(path) || path === "/") throw bad(`it must be ${usual}`);
    return { kind: "folder", path };
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") throw bad(`it must be ${usual}`);
  if (url.protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(url.hostname))
    throw bad(`a store on another host must be asked by https: it gets all texts that are indexed`);
  for (const name of url.searchParams.keys())
    if (name !== "region") throw bad(`it has ${JSON.stringify(name.slice(0, 50))}, but may have region only`);
  // What a URL changes when it is signed is not in it.
  if (!/^(?:\/[A-Za-z0-9._-]+)+\/?$/.test(url.pathname) || url.pathname.length > 200)
    throw bad(
      "after the host there must be the name of the bucket, perhaps with folders in it, of letters, digits, and . _ -",
    );
  const region = url.searchParams.get("region") ?? "us-east-1";
  if (!/^[a-z0-9-]{1,50}$/.test(region)) throw bad("the region must be of a-z, 0-9 and -");
  return { kind: "s3", url: `${url.origin}${url.pathname.replace(/\/$/, "")}`, region };
}

function decode(text: string): string {
  return requireUrlPart(text, () => bad(`it must be ${usual}`));
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-config", `fleet.objects: ${message}`);
}
