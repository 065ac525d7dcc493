import type { ObjectAddress } from "./object-address.js";
import { FolderStore } from "./folder-store.js";
import { type ObjectLimits, Objects } from "./object-store.js";
import { S3Store } from "./s3-store.js";

/** How a store is reached. Plain data. */
export interface ObjectSettings {
  readonly address: ObjectAddress;
  /** Where the key of a bucket is; see `S3Settings`. */
  readonly credential: string;
  readonly limits: ObjectLimits;
}

export function openObjects({ address, credential, limits }: ObjectSettings): Objects {
  const store =
    address.kind === "folder"
      ? new FolderStore(address.path)
      : new S3Store({ url: address.url, region: address.region, credential, silenceMs: limits.silenceMs });
  return new Objects(store, limits);
}
