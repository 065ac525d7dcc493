/** The environment variables that commands read, for the manual page and the help. */
export const environmentVariables: readonly (readonly [names: string, meaning: string])[] = [
  ["TRAWL_DATA", "data directory of the daemon"],
  ["TRAWL_ENDPOINT, SRC_ENDPOINT", "address of the daemon for search and api"],
  ["TRAWL_TOKEN, SRC_ACCESS_TOKEN", "access token for search and api"],
  ["TRAWL_PAGER, PAGER", "program that shows results of search --pager"],
  ["NO_COLOR", "if set, output has no colours"],
];

export const files: readonly (readonly [path: string, meaning: string])[] = [
  ["~/.config/trawl/client.json", "endpoint and access tokens that `trawl login` has stored"],
];
