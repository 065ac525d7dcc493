/** Clients that end a stream with an error when a match object has a type that they do not know. */
const strictClient = /^(?:src-cli|Go-http-client)\//;

/**
 * The `type` of match objects that are diffs. The interface lists "diff"; the original server sends "commit" for both,
 * and some clients accept nothing else. `setting` is `search.diffType`.
 */
export function chooseDiffType(setting: "auto" | "commit" | "diff", userAgent: string | undefined): "commit" | "diff" {
  if (setting !== "auto") return setting;
  return strictClient.test(userAgent ?? "") ? "commit" : "diff";
}
