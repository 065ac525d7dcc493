/** Which paths the browser renders. */
import t from "tap";
import { findWebPage } from "../../../src/model/web-page.js";

const rows: readonly (readonly [path: string, page: string | undefined])[] = [
  ["/", "search"],
  ["/search", "search"],
  ["/sign-in", "sign-in"],
  ["/users/someone/settings", "account"],
  ["/search-jobs", "jobs"],
  ["/organizations/some", "organizations"],
  ["/organizations/invitation/12", "organizations"],
  ["/organizations/some/other", undefined],
  ["/github.com/owner/name", "code"],
  ["/github.com/owner/name@main/-/blob/src/a.ts", "code"],
  ["/github.com/owner/name/-/raw/src/a.ts", undefined],
  ["/github.com/owner/name/-/settings", undefined],
  ["/github.com/owner/name@v1/x/-/raw", undefined],
  ["/github.com/owner/name/-/blob/a/-/raw/b", "code"],
  ["/github.com/owner/name/-/rawhide", "code"],
  ["/github.com/owner/a-/raw/b", "code"],
  ["/api/-/raw", undefined],
  ["/-/raw/a", undefined],
];

for (const [path, page] of rows) t.equal(findWebPage(path)?.name, page, path);
