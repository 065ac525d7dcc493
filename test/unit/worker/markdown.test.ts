/** Markdown as HTML: what people write is rendered, and nothing in it can run or load anything from elsewhere. */
import t from "tap";
import { linkMarkdown, linksMarkdown } from "../../../src/browse/markdown.js";
import { answerRenderMarkdown, renderMarkdown } from "../../../src/worker/read/markdown.js";
import { MarkupTime } from "../../../src/worker/read/highlight.js";
import { GitFixture } from "../../support/git-fixture.js";
import { ask } from "../../support/graphql.js";
import { sharedDaemon } from "../../support/shared-daemon.js";
import { fc, runs } from "../../support/property.js";

const render = (text: string): string => renderMarkdown(text, new MarkupTime(true)) ?? "not rendered";

t.test("what GitHub renders is rendered", async (t) => {
  t.equal(render("# A *b*\n"), '<h1 id="user-content-a-b">A <em>b</em></h1>\n');
  t.match(render("| a | b |\n|---|--:|\n| 1 | 2 |\n"), /<td>1<\/td>/);
  t.equal(render("~~a~~"), "<p><s>a</s></p>\n");
  t.match(render("- [ ] a\n- [x] b\n"), /<li>\u2610 a<\/li>\n<li>\u2611 b<\/li>/);
  t.equal(
    render("see https://a.example/b"),
    '<p>see <a href="https://a.example/b" rel="nofollow noreferrer">https://a.example/b</a></p>\n',
  );
  t.equal(render("[a](docs/b.md#c)"), '<p><a href="docs/b.md#c" rel="nofollow noreferrer">a</a></p>\n');
  t.equal(
    render("```js\n1 < 2\n```\n"),
    '<pre><code class="language-js"><span class="hljs-number">1</span> &lt; <span class="hljs-number">2</span>\n</code></pre>\n',
  );
  t.equal(render("<details open><summary>a</summary>b</details>"), "<details open><summary>a</summary>b</details>");
  t.equal(render("```none\na\n```\n"), '<pre><code class="language-none">a\n</code></pre>\n');
  const twice = render("# Ä b-c!\n\n## Ä b-c\n\n# !\n\n[up](#ä-b-c)");
  t.match(twice, /^<h1 id="user-content-ä-b-c">.*<h2 id="user-content-ä-b-c-1">.*<h1>!/s);
  t.match(twice, /href="#user-content-%C3%A4-b-c"/);
  const note = render("a[^1]\n\n[^1]: The note.\n");
  t.match(note, /<a id="user-content-fnref1" href="#user-content-fn1" rel="nofollow noreferrer">\[1\]<\/a>/);
  t.match(note, /<li id="user-content-fn1"><p>The note. <a href="#user-content-fnref1"/);
  t.equal(render("![a](b.png)"), '<p><img src="b.png" alt="a" /></p>\n');
});

t.test("alerts and front matter", async (t) => {
  t.equal(
    render("> [!NOTE]\n> Read *this*.\n>\n> And this.\n"),
    '<blockquote class="markdown-alert markdown-alert-note">\n<p><strong>Note</strong><br />Read <em>this</em>.</p>\n<p>And this.</p>\n</blockquote>\n',
  );
  t.match(render("> [!warning]\n>\n> - a\n"), /markdown-alert-warning">\n<p><strong>Warning<\/strong><\/p>/);
  for (const text of ["> [!OTHER]\n> a\n", "> [!NOTE] a\n", "[!NOTE]\na\n", "> a\n> [!NOTE]\n"])
    t.notMatch(render(text), /markdown-alert/, text);
  t.equal(render('<blockquote class="panel">a</blockquote>'), "<blockquote>a</blockquote>");
  t.equal(
    render("---\r\ntitle: A <b>\r\ntags:\r\n  - one\r\n  - two\r\n# not this\r\n---\r\n# B\r\n"),
    '<table><tbody><tr><th>title</th><td>A &lt;b&gt;</td></tr><tr><th>tags</th><td>- one<br />- two</td></tr></tbody></table>\n<h1 id="user-content-b">B</h1>\n',
  );
  t.equal(render("---\nno names\n---\n"), '<hr />\n<h2 id="user-content-no-names">no names</h2>\n');
  t.equal(render("---\nnever: closed\n"), "<hr />\n<p>never: closed</p>\n");
  t.equal(render("---\na: b\n---"), "<table><tbody><tr><th>a</th><td>b</td></tr></tbody></table>\n");
});

t.test("little markup does not become millions of elements", async (t) => {
  const many = (open: (at: number) => string): string => Array.from({ length: 90 }, (_, at) => open(at)).join("");
  t.equal(render(`<p>${many((at) => `<code class="language-${at}">`)}x`), "not rendered");
  t.notMatch(render(`<p>${many((at) => `<b id="a${at}">`)}x`), /id=/, "formatting has no attributes that differ");
});

t.test("what could run, load or mislead is dropped", async (t) => {
  const cases: readonly [text: string, html: string][] = [
    ["<script>alert(1)</script>", ""],
    ["<style>a{}</style>", ""],
    ['<p onclick="a()" style="color:red" id="x" class="y">b</p>', '<p id="user-content-x">b</p>'],
    ['<a name="main">b</a>', '<a id="user-content-main" rel="nofollow noreferrer">b</a>'],
    ['<span class="hljs-string panel">b</span>', '<span class="hljs-string">b</span>'],
    ['<img src="a.png" onerror="b()">', '<img src="a.png" />'],
    ['<img src="data:image/svg+xml,x">', "<img />"],
    ['<img src="https://a.example/b.png" alt="c">', '<img alt="c" />'],
    ['<img src="//a.example/b.png">', "<img />"],
    ['<img src="/\\a.example/b.png">', "<img />"],
    ["![c](http://a.example/b.png)", '<img alt="c" />'],
    ['<img srcset="https://a.example/b.png 2x" src="b.png">', '<img src="b.png" />'],
    ['<a href="/\\a.example">b</a>', '<a rel="nofollow noreferrer">b</a>'],
    ['<a href="java&#10;script:a()">b</a>', '<a rel="nofollow noreferrer">b</a>'],
    ["<iframe src='https://a'></iframe>", ""],
    ["<svg><script>a</script></svg>", ""],
    ["<form action='https://a'><input name=b><button>c</button></form>", "c"],
    ['<a href="javascript:alert(1)">b</a>', '<a rel="nofollow noreferrer">b</a>'],
    ['<a href="jAvA&#x09;script:alert(1)">b</a>', '<a rel="nofollow noreferrer">b</a>'],
    ['<a href="//a.example">b</a>', '<a rel="nofollow noreferrer">b</a>'],
    ['<a href="data:text/html,x">b</a>', '<a rel="nofollow noreferrer">b</a>'],
    [
      '<a href="https://a.example" target="_blank" rel="opener">b</a>',
      '<a href="https://a.example" rel="nofollow noreferrer">b</a>',
    ],
    ['<code class="hljs language-c">a</code>', '<code class="language-c">a</code>'],
    ["<math><mtext><table><mglyph><style><img src=x onerror=a()>", "<p><table></table></p>"],
  ];
  for (const [text, html] of cases)
    t.equal(
      render(text)
        .replace(/^<p>(.*)<\/p>\n$/s, "$1")
        .trim(),
      html,
      text,
    );
});

t.test("links of commits lead to pages of the daemon only", (t) => {
  const link = '<a href="/a/-/commit/1" rel="nofollow">';
  t.equal(linksMarkdown("[a](/a/-/commit/1): b").html, `<p>${link}a</a>: b</p>\n`);
  for (const address of [
    "javascript:alert(1",
    "JavaScript:alert(1",
    "\tjava\nscript:alert(1",
    "data:text/html,a",
    "//a.example",
    "/\\a.example",
    "\\\\a.example",
    "https://a.example",
    "/\t/a.example",
  ]) {
    const { html } = linksMarkdown(`[a](${address}) [b](/a/-/commit/1)`);
    t.equal(html.match(/<a /g)?.length, 1, address);
    t.ok(html.includes(`${link}b</a>`), address);
    t.notMatch(linkMarkdown("a", address).html, /href="(?!https:)/, address);
  }
  t.end();
});

t.test("no text becomes an element, an attribute or a link that is not allowed", async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "<",
      ">",
      '"',
      "'",
      "`",
      "[",
      "](",
      ")",
      "&#x3c;",
      "javascript:",
      "<a href=",
      "<img src=x ",
      "onerror=",
      "<!--",
      "-->",
      "<svg",
      "</",
      "\n",
      "\n\n",
      "    ",
      "<![CDATA[",
      "|",
      "<p ",
    ),
    fc.string({ maxLength: 6 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const html = render(pieces.join(""));
      const tags = [...html.matchAll(/<\/?([a-z0-9]*)([^<>]*)>/g)];
      // Whatever else looks like the start of a tag is not one, because it is escaped.
      if (html.replace(/<\/?[a-z][a-z0-9]*(?: [a-z]+(?:="[^"<>]*")?)*(?: \/)?>/g, "").includes("<")) return false;
      return tags.every(([, name, attributes]) => {
        if (!/^[a-z][a-z0-9]*$/.test(name) || /^(?:script|style|svg|iframe|form|input|math)$/.test(name)) return false;
        return (
          !/(?:^|\s)(?:on[a-z]+|style|id)\s*=/.test(attributes) &&
          !/(?:href|src)="\s*(?:javascript|data|vbscript):/i.test(attributes)
        );
      });
    }),
    { numRuns: runs(300) },
  );
});

t.test("a text that takes too much work is not rendered", async (t) => {
  t.equal(renderMarkdown("a".repeat(1_000_001), new MarkupTime(true)), undefined);
  const late = new MarkupTime(false);
  late.leftMs = 0;
  t.equal(renderMarkdown("a", late), undefined);
  const short = new MarkupTime(false);
  short.leftMs = 1;
  t.equal(renderMarkdown("[a](b) ".repeat(100_000), short), undefined);
  t.throws(() => answerRenderMarkdown({ kind: "render-markdown", text: "a".repeat(1_000_001) }), {
    message: /at most 1000000 characters/,
  });
  for (const text of [
    "[".repeat(50_000),
    "*a ".repeat(50_000),
    "<a ".repeat(50_000),
    "> ".repeat(50_000),
    "`".repeat(50_000),
  ])
    t.not(render(text), "not rendered", `within the time: ${text.slice(0, 6)}`);
});

t.test("over GraphQL", async (t) => {
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  source.commit({
    branch: "main",
    message: "One\n",
    files: { "README.md": "# A\n\n<b onclick=c()>b</b>\n\n*c*\n", "a.txt": "# A\n" },
  });
  const daemon = await sharedDaemon(t);
  await daemon.add("example.org/a", source.path);
  const file = (path: string, field: string) =>
    ask(
      daemon.url,
      `{ repository(name: "example.org/a") { commit(rev: "HEAD") { blob(path: "${path}") { richHTML${field} } } } }`,
    );
  const blob = (richHTML: string) => ({ data: { repository: { commit: { blob: { richHTML } } } } });
  t.strictSame(
    await file("README.md", ""),
    blob('<h1 id="user-content-a">A</h1>\n<p><b>b</b></p>\n<p><em>c</em></p>\n'),
  );
  t.strictSame(await file("README.md", "(startLine: 5)"), blob("<p><em>c</em></p>\n"));
  t.strictSame(await file("a.txt", ""), blob(""), "only Markdown is rendered");
  t.strictSame(await ask(daemon.url, '{ renderMarkdown(markdown: "a <script>b</script> *c*") }'), {
    data: { renderMarkdown: "<p>a  <em>c</em></p>\n" },
  });
});
