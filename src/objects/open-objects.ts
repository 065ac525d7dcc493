import type { ObjectAddress } from "./object-address.js";
import { FolderStore } from "./folder-store.js";
import { type ObjectLimits, Objects, usualObjectLimits } from "./object-store.js";
import { S3Store } from "./s3-store.js";

/** How a store is reached. Plain data. */
export interface ObjectSettings {
  readonly address: ObjectAddress;
  /** Where the key of a bucket is; see `S3Settings`. */
  readonly credential: string;
  /** Undefined for the usual ones. */
  readonly limits?: ObjectLimits | undefined;
}

export function openObjects({ address, credential, limits = usualObjectLimits }: ObjectSettings): Objects {
  const store =
    address.kind === "folder"
      ? new FolderStore(address.path)
      : new S3Store({ url: address.url, region: address.region, credential, silenceMs: limits.silenceMs });
  return new Objects(store, limits);
}
