/** Which lines of which files a diff among the results shows. */
import t from "tap";
import { sidesOfDiff } from "../../../src/web/search/results/diff-sides.js";

t.test("lines of a diff are found in the files before and after", (t) => {
  const lines = [
    "a\\ b.c a\\ b.c",
    "@@ -3,3 +3,2 @@ int f()",
    " same",
    "-gone",
    " same",
    "@@ -10,1 +9,2 @@",
    "+new",
    "",
    "/dev/null added.c",
    "@@ -0,0 +1,1 @@",
    "+one",
    "removed.c /dev/null",
    "@@ -5,1 +4,0 @@",
    "-one",
  ];
  t.same(sidesOfDiff(lines), [
    { isOld: true, path: "a b.c", parts: [{ span: { from: 3, to: 4 }, rows: [3] }] },
    {
      isOld: false,
      path: "a b.c",
      parts: [
        { span: { from: 2, to: 4 }, rows: [2, 4] },
        { span: { from: 8, to: 10 }, rows: [6, 7] },
      ],
    },
    { isOld: false, path: "added.c", parts: [{ span: { from: 0, to: 1 }, rows: [10] }] },
    { isOld: true, path: "removed.c", parts: [{ span: { from: 4, to: 5 }, rows: [13] }] },
  ]);
  t.same(sidesOfDiff(["file", " line without a hunk", "@@ damaged @@", "+x"]), []);
  t.end();
});
