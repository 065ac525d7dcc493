import { rows, tools, unable, type CaseRow } from "./row.js";

/* Tags, globs, commits and moments: the part of section 9 that asks the mirror. The evaluator alone cannot answer it. */

const lines = "tools/build.py:L3,L4";

export const revisionCases: readonly CaseRow[] = rows("revisions of the mirror", "standard", [
  ["a tag", "repo:^acme/tools$@v1.0 type:file goal", [`acme/tools@v1.0:${lines}`]],
  ["a tag, by rev:", "repo:^acme/tools$ rev:v1.0 type:file goal", [`acme/tools@v1.0:${lines}`]],
  ["a tag by its full name", "repo:^acme/tools$@refs/tags/v1.0 type:file goal", [`acme/tools@refs/tags/v1.0:${lines}`]],
  [
    "a tag beside a branch",
    "repo:^acme/tools$@main:v1.0 type:file /^def/",
    ["acme/tools@main:tools/build.py:L4", "acme/tools@v1.0:tools/build.py:L3"],
  ],
  ["paths at a tag", "repo:^acme/tools$@v1.0 file:CHANGES", ["acme/tools@v1.0:CHANGES"]],
  ["a repository at a tag", "repo:^acme/tools$@v1.0", ["acme/tools@v1.0"]],
  [
    "the commit before: no build.py yet",
    "repo:^acme/tools$@release/1.0~1 file:.",
    ["acme/tools@release/1.0~1:CHANGES", "acme/tools@release/1.0~1:Makefile"],
  ],
  [
    "a glob of branches",
    "repo:^parser$@*refs/heads/* type:file /^# Parser/",
    ["parser@dev:README.md:L1", "parser@main:README.md:L1"],
  ],
  ["a glob without refs/", "repo:^parser$@*heads/de* type:file development", ["parser@dev:README.md:L3"]],
  [
    "a glob without operators stands for all below it",
    "repo:^parser$@*refs/heads type:file /^# Parser/",
    ["parser@dev:README.md:L1", "parser@main:README.md:L1"],
  ],
  ["a glob crosses slashes", "repo:^acme/tools$@*refs/heads/rel* type:file goal", [`acme/tools@release/1.0:${lines}`]],
  [
    "a glob less another",
    "repo:^parser$@*refs/heads/*:*!refs/heads/dev type:file /^# Parser/",
    ["parser@main:README.md:L1"],
  ],
  [
    "a glob in rev:",
    "repo:^parser$ rev:*refs/heads/* type:file /^# Parser/",
    ["parser@dev:README.md:L1", "parser@main:README.md:L1"],
  ],
  [
    "a moment after all commits",
    "repo:^parser$ rev:at.time(2030-01-01) type:file tokens",
    ["parser@at.time(2030-01-01):src/parser.go:L3"],
  ],
  [
    "a moment, and a branch",
    "repo:^parser$ rev:at.time(2030-01-01, dev) onlyOnDev",
    ["parser@at.time(2030-01-01, dev):src/dev_only.go:L3"],
  ],
  [
    "index:only leaves out a tag that no indexed branch has under this name",
    "repo:^acme/tools$@v1.0 index:only a",
    [
      'alert: Some repositories could not be searched: The repository acme/tools matched by your repo: filter could not be searched because it does not contain the revision "v1.0"…',
    ],
  ],
  [
    "index:no changes nothing",
    "r:^acme/tools$ index:no type:file target",
    tools("src/mod.rs:L1,L2", "tools/build.py:L4,L5"),
  ],
  ["a moment that is none", "repo:a rev:at.time(sometime)", [`${unable}Invalid predicate value: …`]],
]);
