/**
 * Whether it is a path of this site as browsers understand it. They leave out tabs and newlines, and take a backslash for a
 * slash, so `/\t/host` is another site: only the URL that it becomes tells.
 */
export function isOwnPath(given: string, site: URL): boolean {
  return given.startsWith("/") && URL.canParse(given, site) && new URL(given, site).origin === site.origin;
}
