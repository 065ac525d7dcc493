/** Which paths the browser renders. */
import t from "tap";
import { findWebPage, isMissingPage } from "../../../src/model/web-page.js";

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

const missing: readonly (readonly [path: string, isMissing: boolean])[] = [
  ["/", false],
  ["/site-admin", false],
  ["/site-admin/users", false],
  ["/site-admin/nosuch", true],
  ["/site-admin/users/nosuch", true],
  ["/users/ann", false],
  ["/users/ann/settings/tokens", false],
  ["/users/ann/nosuch", true],
  ["/user/nosuch", true],
  ["/settings/nosuch", true],
  ["/organizations/some/nosuch", true],
  ["/teams/some/nosuch", true],
  ["/search/nosuch", true],
  ["/search-jobs/nosuch", true],
  ["/sign-in/nosuch", true],
  ["/api/nosuch", true],
  ["/contexts/@ann/any", false],
  ["/help/any", false],
  ["/github.com/owner/name", false],
  ["/github.com/owner/name/-/blob/site-admin/nosuch", false],
  ["/github.com/owner/name/-/nosuch", true],
  ["/github.com/owner/name/-/raw/a", false],
];

for (const [path, isMissing] of missing) t.equal(isMissingPage(path), isMissing, path);
