/** The finder: which names are found for what is typed, and in which order. */
import t from "tap";
import { NameRanking } from "../../../src/web/finder/name-ranking.js";
import { parseFileNames } from "../../../src/web/finder/finder-sources.js";
import { scaled } from "../../support/full-run.js";
import { startWork } from "../../../src/web/ui/slices.js";
import { fc, runs } from "../../support/property.js";
import { until } from "../../support/waiting.js";

const paths = [
  "kernel/sched/core.c",
  "kernel/sched/core_sched.c",
  "kernel/sched/Makefile",
  "include/linux/sched/coredump.h",
  "include/linux/sched.h",
  "include/uapi/linux/sched.h",
  "tools/testing/selftests/drivers/net/mlxsw/sch_red_core.sh",
  "net/ipv4/tcp_input.c",
  "net/dccp/input.c",
  "arch/x86/Makefile",
  "arch/x86/mm/Makefile",
  "Makefile",
  "src/web/FileView.tsx",
  "src/web/fileviewer.css",
  "docs/Größe.md",
  "שלום/עולם.txt",
];

const first = (text: string, list: readonly string[] = paths): string | undefined =>
  new NameRanking(list).find(text, 50).names[0]?.name;

t.test("the name that is meant is the first", async (t) => {
  for (const [text, name] of [
    ["schedcore", "kernel/sched/core.c"],
    ["sched/core", "kernel/sched/core.c"],
    ["tcpinput", "net/ipv4/tcp_input.c"],
    ["input.c", "net/dccp/input.c"],
    ["makefile", "Makefile"],
    ["MAKEFILE x86", "arch/x86/Makefile"],
    ["x86 makefile mm", "arch/x86/mm/Makefile"],
    ["sched.h", "include/linux/sched.h"],
    ["fv", "src/web/FileView.tsx"],
    ["größe", "docs/Größe.md"],
    ["עולם", "שלום/עולם.txt"],
  ] as const)
    t.equal(first(text), name, text);
  t.equal(first("zq"), undefined);
  t.equal(first("corek"), undefined, "in their order");
});

t.test("without a text, the first names in their order", async (t) => {
  const { names, totalCount } = new NameRanking(paths).find(" ", 3);
  t.same(
    names.map(({ name }) => name),
    paths.slice(0, 3),
  );
  t.equal(totalCount, paths.length);
  t.same(new NameRanking([]).find("a", 3), { names: [], totalCount: 0 });
});

t.test("the characters that were typed are marked", async (t) => {
  const [found] = new NameRanking(["lib/parse_path.c"]).find("ppath lib", 1).names;
  t.equal(found?.marks.map((at) => "lib/parse_path.c"[at]).join(""), "libppath");
  t.same(found?.marks, [0, 1, 2, 4, 10, 11, 12, 13]);
});

t.test("very long names and texts", async (t) => {
  const long = `${"a/".repeat(5_000)}end`;
  t.equal(first("a", [long]), long);
  t.equal(first("x".repeat(500), [long]), undefined);
  t.equal(first("a".repeat(500), [long]), long);
  const late = `${"b/".repeat(520)}z`;
  t.equal(first("z", [late, "a"]), undefined, "a letter that is only after the part that is looked at");
  t.equal(first("b z", [late, "a"]), undefined);
});

t.test("a search in pieces, which the next letter cancels", async (t) => {
  const names = Array.from({ length: 1_000 }, (_, at) => `src/file${at}.c`);
  const ranking = new NameRanking(names);
  const cancelled = ranking.search("file9", 5);
  for (let piece = 0; piece < 5; piece++) t.equal(cancelled.next().done, false, "it pauses");
  t.same(ranking.find("file99", 5), new NameRanking(names).find("file99", 5), "what was prepared is of use");
  for (let piece = 0; piece < 100; piece++) cancelled.next();
  t.same(ranking.find("file99", 5), new NameRanking(names).find("file99", 5));
  let found = 0;
  const work = startWork(new NameRanking(names).search("file", 5), ({ totalCount }) => {
    found = totalCount;
  });
  await until("it is found", () => found === names.length);
  work.cancel();
});

const character = fc.constantFrom(..."aAbBc1/._ ");
const name = fc.string({ unit: character, minLength: 1, maxLength: 12 });

t.test("all names with the text are found, however it was typed, and the best of them first", async (t) => {
  const has = (name: string, word: string): boolean => {
    let at = 0;
    for (const one of name.toLowerCase()) if (one === word[at]) at++;
    return at === word.length;
  };
  fc.assert(
    fc.property(fc.array(name, { maxLength: 40 }), name, fc.integer({ min: 1, max: 5 }), (names, text, countMax) => {
      const words = text
        .toLowerCase()
        .split(" ")
        .filter((word) => word !== "");
      const wanted = names.flatMap((name, at) => (words.every((word) => has(name, word)) ? [at] : []));
      const all = new NameRanking(names).find(text, 1_000);
      t.equal(all.totalCount, wanted.length);
      t.same(
        all.names.map(({ index }) => index).sort((one, other) => one - other),
        wanted,
      );
      for (const { name, marks } of all.names) {
        const marked = new Set(marks.map((at) => name[at]?.toLowerCase()));
        t.ok(
          [...words.join("")].every((one) => marked.has(one)),
          `${name} ${marks.join()}`,
        );
      }
      const typed = new NameRanking(names);
      for (let end = 1; end < text.length; end++) typed.find(text.slice(0, end), countMax);
      t.same(typed.find(text, countMax).names, all.names.slice(0, countMax), "each letter after the other");
      typed.find("c", 3);
      t.same(typed.find(text, countMax).names, all.names.slice(0, countMax), "after another text");
    }),
    { numRuns: runs(1_000) },
  );
});

t.test("names as the server sends them", async (t) => {
  const bytes = Buffer.concat([Buffer.from("a&amp;lt;/&lt;b&gt;\nc&#10;d\n"), Buffer.from([0xff, 0x0a])]);
  t.same(parseFileNames(bytes), ["a&lt;/<b>", "c\nd", "\udcff"]);
  t.same(parseFileNames(new Uint8Array()), []);
});

t.test("a repository as large as Linux", async (t) => {
  const folders = ["kernel", "drivers", "include", "fs", "net", "arch", "tools", "Documentation"];
  const words = ["sched", "core", "input", "main", "driver", "table", "inode", "page", "config", "device"];
  const names = Array.from({ length: scaled(4_000, 80_000) }, (_, at) => {
    const word = (step: number): string => words[Math.floor(at / step) % words.length] ?? "";
    return `${folders[at % 8]}/${word(8)}/${word(80)}_${word(7)}/${word(800)}-${word(3)}${at}.c`;
  });
  const ranking = new NameRanking(names);
  let text = "";
  const times: number[] = [];
  for (const letter of "drivers core main79") {
    text += letter;
    const { user } = process.cpuUsage();
    ranking.find(text, 50);
    times.push((process.cpuUsage().user - user) / 1000);
  }
  t.comment(`a letter takes ${times.map((ms) => ms.toFixed(1)).join(", ")} ms of processor time`);
  t.ok(ranking.find("driversschedcore", 50).totalCount > 0);
});
