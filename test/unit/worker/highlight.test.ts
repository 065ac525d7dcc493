/** Code as HTML: its lines are preserved for any code, and none of it becomes markup. */
import t from "tap";
import {
  highlightText,
  MarkupTime,
  parseProcessorMs,
  plainLines,
  withinTime,
} from "../../../src/worker/read/highlight.js";
import { GitFixture } from "../../support/git-fixture.js";
import { ask } from "../../support/graphql.js";
import { sharedDaemon } from "../../support/shared-daemon.js";
import { fc, runs } from "../../support/property.js";

const highlight = (text: string, path: string, longLines = false) =>
  highlightText({ text, path, language: "", longLines }, new MarkupTime(true));

/** The text of HTML without its tags. */
const shown = (html: string): string =>
  html
    .replace(/<\/?span[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#34;", '"')
    .replaceAll("&#x27;", "'")
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

const linesOf = (text: string): string[] => (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");

t.test("tokens have spans, and spans end with their line", async (t) => {
  t.strictSame(highlight("const a = `x\ny`;\n", "a.ts"), {
    lines: [
      '<span class="hljs-keyword">const</span> a = <span class="hljs-string">`x</span>',
      '<span class="hljs-string">y`</span>;',
    ],
    aborted: false,
  });
  t.match(highlight("echo hi\n", "run.sh").lines[0], /hljs-built_in/, "a shell script is bash");
  t.match(
    highlightText({ text: "def f(): pass", path: "", language: "py", longLines: false }, new MarkupTime(false))
      .lines[0],
    /hljs-keyword/,
    "the ending of a file names a language",
  );
  t.match(
    highlightText({ text: "int f();", path: "", language: "C++", longLines: false }, new MarkupTime(false)).lines[0],
    /hljs-/,
    "and so does its name",
  );
  t.strictSame(highlight("no language < here\n", "x.unknown-ending"), {
    lines: ["no language &lt; here"],
    aborted: false,
  });
});

t.test("code never becomes markup", async (t) => {
  for (const path of ["a.ts", "a.html", "a.md", "a.py", "Makefile", "a.unknown", "a.json"]) {
    const { lines } = highlight("<script>alert(\"1\" & '2')</script>\n<img src=x onerror=alert(1)>", path);
    t.equal(lines.length, 2, path);
    t.notMatch(lines.join(""), /<(?!\/?span)/, `${path}: only spans`);
    t.match(shown(lines[0]), "<script>alert(\"1\" & '2')</script>", path);
  }
});

t.test("any text keeps its lines", async (t) => {
  const text = fc
    .array(
      fc.constantFrom(
        "\n",
        "`",
        '"',
        "'",
        "/*",
        "*/",
        "<",
        ">",
        "&",
        "</span>",
        "{",
        "}",
        "#",
        "${",
        "\r\n",
        "\\",
        "a",
        " ",
        "é",
        "\u{1F600}",
        "```",
        "<script>",
      ),
      { maxLength: 60 },
    )
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.constantFrom("a.ts", "a.html", "a.md", "a.py", "a.sh", "a.c", "a.css"), (given, path) => {
      const { lines } = highlight(given, path);
      t.strictSame(lines.map(shown), linesOf(given));
      for (const line of lines)
        t.equal(line.split("<span").length, line.split("</span>").length, "each line closes what it opens");
    }),
    { numRuns: runs(150) },
  );
});

t.test("limits", async (t) => {
  const long = `const s = 1;\nconst t = "${"x".repeat(5_000)}";\nconst u = 2;\n`;
  const { lines } = highlight(long, "a.ts");
  t.match(lines[0], /hljs-keyword/);
  t.equal(lines[1], plainLines(long)[1], "a long line is plain");
  t.match(lines[2], /hljs-keyword/, "and those after it are not");
  t.match(highlight(long, "a.ts", true).lines[1], /hljs-keyword/, "unless it is asked for");

  const large = "a = 1;\n".repeat(200_000);
  t.strictSame(highlight(large, "a.ts"), { lines: linesOf(large), aborted: true }, "too large");
  const time = new MarkupTime(false);
  time.leftMs = 1;
  const slow = "const a = { b: [1, 2, 3] };\n".repeat(30_000);
  t.strictSame(
    highlightText({ text: slow, path: "a.ts", language: "", longLines: false }, time),
    { lines: plainLines(slow), aborted: true },
    "too slow",
  );
  t.ok(time.leftMs <= 0, "and what it took is gone for the next");
});

t.test("work to which other processes left no processor is tried again, and its processor time counts", async (t) => {
  const limited = (): MarkupTime => Object.assign(new MarkupTime(false), { leftMs: 50 });
  const time = limited();
  let tries = 0;
  // While this thread sleeps, the watchdog's time passes, as while others run.
  const asleep = new Int32Array(new SharedArrayBuffer(4));
  const work = (): string => {
    if (++tries === 1) for (;;) Atomics.wait(asleep, 0, 0, 10);
    return "done";
  };
  t.equal(withinTime(work, time), "done");
  t.equal(tries, 2);
  t.ok(time.leftMs > 25, `${time.leftMs} ms are left`);
  tries = 0;
  const busy = (): string => {
    tries++;
    for (;;);
  };
  t.equal(withinTime(busy, limited()), undefined);
  t.ok(tries <= 2, "what never ends is given up");
});

t.test("over GraphQL", async (t) => {
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  source.commit({
    branch: "main",
    message: "One\n",
    files: { "a.ts": "const a = 1;\nconst b = 2;\n", binary: "a\0b", lines: "\n".repeat(600_000) },
  });
  source.commit({ branch: "main", message: "Two\n", files: { "a.ts": 'const a = "<b>";\nconst b = 2;\n' } });
  const daemon = await sharedDaemon(t);
  await daemon.add("example.org/a", source.path);
  const file = (path: string, selection: string) =>
    ask(
      daemon.url,
      `{ repository(name: "example.org/a") { commit(rev: "HEAD") { blob(path: "${path}") { ${selection} } } } }`,
    );
  const blob = (value: unknown) => ({ data: { repository: { commit: { blob: value } } } });

  t.match(
    await file(
      "a.ts",
      "highlight(disableTimeout: false) { aborted html lineRanges(ranges: [{ startLine: 1, endLine: 2 }, { startLine: 5, endLine: 9 }]) }",
    ),
    blob({
      highlight: {
        aborted: false,
        html: /^<table><tbody><tr><td class="line" data-line="1"><\/td><td class="code"><span><span class="hljs-keyword">const.*<\/table>$/s,
        lineRanges: [[/^<tr><td class="line" data-line="2"><\/td>.*<\/tr>$/s], []],
      },
    }),
  );
  t.match(
    await file("a.ts", "highlight(disableTimeout: false, startLine: 2, endLine: 2) { html }"),
    blob({ highlight: { html: /^<table><tbody><tr><td class="line" data-line="2">/ } }),
  );
  t.match(
    await file("a.ts", "highlight(disableTimeout: false, format: HTML_PLAINTEXT) { html }"),
    blob({ highlight: { html: /<span>const a = &#34;&lt;b&gt;&#34;;\n<\/span>/ } }),
  );
  t.match(await file("binary", "highlight(disableTimeout: false) { html }"), {
    errors: [{ message: "cannot render binary file" }],
  });
  t.match(await file("lines", "highlight(disableTimeout: false) { html }"), {
    errors: [{ message: /too many for this response/ }],
  });
  t.match(
    await ask(daemon.url, '{ highlightCode(code: "x = \'<i>\'\\n", fuzzyLanguage: "python", disableTimeout: false) }'),
    {
      data: { highlightCode: /^<table><tbody><tr><td class="line" data-line="1">.*hljs-string.*&lt;i&gt;/ },
    },
  );
  t.match(
    await ask(
      daemon.url,
      `{ repository(name: "example.org/a") { commit(rev: "HEAD") { diff { fileDiffs { nodes { hunks { body highlight(disableTimeout: false) { aborted lines { kind html } } } } } } } } }`,
    ),
    {
      data: {
        repository: {
          commit: {
            diff: {
              fileDiffs: {
                nodes: [
                  {
                    hunks: [
                      {
                        highlight: {
                          aborted: false,
                          lines: [
                            { kind: "DELETED", html: /hljs-number/ },
                            { kind: "ADDED", html: /hljs-string.*&lt;b&gt;/ },
                            { kind: "UNCHANGED", html: /hljs-keyword/ },
                          ],
                        },
                      },
                    ],
                  },
                ],
              },
            },
          },
        },
      },
    },
  );
});

t.test("a kernel that does not count the time of threads is noticed", async (t) => {
  t.equal(parseProcessorMs("2500000 31 7\n"), 2.5);
  t.equal(parseProcessorMs("0 0 0\n"), undefined);
});
