/**
 * Options of the daemon that all files of this folder share. A search waits for the processor as long as others need it.
 */
export const siteOptions: readonly string[] = ["--set", "search.defaultTimeoutSeconds=60"];
