/** The pages of a repository: directories, files, commits, comparisons, branches, contributors. */
import t from "tap";
import { findViolations, shiftedClock, withoutBrowser, withPage } from "../support/browser.js";
import { GitFixture } from "../support/git-fixture.js";
import { becomes, until } from "../support/waiting.js";
import { WebSite } from "../support/web-site.js";

const hostile = '<img src=x onerror="document.title=1">';
/** One pixel. */
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const script = `<script>document.title = "attacked"; parent.document.title = "attacked"</script>`;
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10" onload="document.title=1"><desc>\ud800</desc>${script}</svg>`;
const book = {
  metadata: { language_info: { name: "python" } },
  cells: [
    { cell_type: "markdown", source: [`# Book ${hostile}\n`, script] },
    {
      cell_type: "code",
      source: "def f(): pass\n\nclass C: pass",
      execution_count: 7,
      outputs: [
        { output_type: "stream", text: ["printed\n"] },
        { output_type: "display_data", data: { "image/png": png } },
        { output_type: "display_data", data: { "image/svg+xml": svg } },
        { output_type: "execute_result", data: { "text/html": `${script}<table><tr><td>frame</td></tr></table>` } },
        { output_type: "display_data", data: { "image/png": "!" } },
      ],
    },
  ],
};
const lineCount = 20_000;
const yearMs = 31_557_600_000;

t.test("pages of a repository", { skip: withoutBrowser }, async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({
    branch: "main",
    message: `First ${hostile}`,
    files: {
      "README.txt": `Read me ${hostile}\n`,
      ".sourcegraph/ignore": "docs/omitted.txt\n",
      "docs/omitted.txt": "not searched\n",
      "docs/README.md": `# Guide\n\n[more](a.md) and [evil](javascript:alert(1)) ${hostile} <img src="../seen/dot.png" alt="dot" width="3000">\n\n| a | |\n|---|---|\n| cell | b |\n\n    code\n`,
      "docs/a.md": "a\n",
      "src/a.ts": 'export const needle = 1;\nconst other = "text";\n',
      "src/\u202erow.ts": 'const word = "\u2066other\u2069"; // \u202eend\n',
      "src/<b>.ts": `// ${hostile}\n`,
      "names/use.c":
        '#include "lib.h"\n\nint twice(int n)\n{\n\treturn helper(n) + both(n) + many(n);\n}\n\nint four(void)\n{\n\treturn twice(2);\n}\n',
      "names/lib.h": "int helper(int n);\n#define both(n) (n)\n",
      "names/lib.c": `int helper(int n) /* \u202e${hostile} */\n{\n\treturn n;\n}\n`,
      "names/one/many.h": "#define many(n) (n)\n",
      "names/two/many.h": "#define both(n) (n + 1)\n#define many(n) (n + 2)\n",
      "names/one.js": `const first = 1;${" ".repeat(25_000)}function far() {}`,
      "long.c": Array.from({ length: lineCount }, (_, i) => `int line_${i + 1};\n`).join(""),
      "part.c": Array.from({ length: 50 }, (_, i) => `int part_${i}(void)\n{\n\treturn 0;\n}\n`).join(""),
      "large.txt": Array.from({ length: 90_000 }, (_, i) => `${i + 1} ${"x".repeat(100)}\n`).join(""),
      "data.bin": Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 256)),
      "seen/dot.png": Buffer.from(png, "base64"),
      "seen/broken.png": Buffer.from([0, 1, 2, 0]),
      "seen/evil.svg": svg,
      "seen/book.ipynb": JSON.stringify(book),
      "seen/broken.ipynb": '{"cells": [',
      "seen/table.csv": `name,value\n${'"a, b",<b>1</b>\n'.repeat(2)}`,
      "seen/look.md": `# Look\n\n> [!WARNING]\n> Hot.\n\n![dot](dot.png) ![far](https://example.org/x.png) a[^1] [down](#down)\n\n[^1]: Note.\n\n\`\`\`ts\nconst a = 1;\n\`\`\`\n${script}\n${"filler\n\n".repeat(60)}## Down\n`,
      "wide.txt": Buffer.from("\ufefferste Zeile\r\nGrüße, おはよう\r\n", "utf16le"),
    },
  });
  fixture.commit({
    branch: "main",
    message: "Second\n\nWith a \u202ebody.\nSee https://example.org/why.",
    files: { "src/a.ts": "export const needle = 2;\n" },
  });
  fixture.git("branch", "moved", "main");
  fixture.commit({
    branch: "moved",
    message: "Moved",
    files: {
      "names/lib.c": { deleted: true },
      "moved.c": `int helper(int n) /* \u202e${hostile} */\n{\n\treturn n;\n}\n`,
    },
  });
  const numbered = Array.from({ length: 120 }, (_, i) => `int line_${i + 1} = ${i + 1};\n`);
  fixture.commit({
    branch: "spaced",
    message: "Numbers",
    files: { "numbers.c": numbered.join(""), "blank.c": "a b\n" },
  });
  fixture.commit({
    branch: "spaced",
    message: "Numbers and spaces",
    files: {
      "numbers.c": numbered
        .map((line, i) => (i === 49 ? `\t${line}` : i === 99 ? line.replace("= 100", "= 1000") : line))
        .join(""),
      "blank.c": "a  b\n",
    },
  });
  fixture.git("branch", "grown", "main");
  fixture.git("branch", "many", "main");
  for (let at = 0; at < 52; at++)
    fixture.commit({
      branch: "many",
      message: `Many ${at}`,
      files:
        at > 0
          ? { [`many/${at}`]: "" }
          : Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`first/${i}`, "1\n"])),
    });
  const { daemon, browser } = await WebSite.start(t);
  await daemon.add("example.org/code", fixture.path);
  const at = (path: string): string => `${daemon.url}/example.org/code${path}`;

  await t.test("the text of a file is asked for before the scripts of its page", async (t) => {
    const text = await (await fetch(at("/-/blob/src/a.ts"), { headers: { Accept: "text/html" } })).text();
    const [raw, script] = [text.indexOf("/-/raw/src/a.ts"), text.indexOf("code-page-")];
    t.ok(raw > 0 && script > raw, text);
  });

  await t.test("a directory shows its entries, its newest commit and its README as text", async (t) => {
    await withPage(t, browser, at(""), {}, async (page) => {
      await page.getByRole("link", { name: "src/", exact: true }).waitFor();
      await page.getByText(`Read me ${hostile}`).waitFor();
      await page.getByRole("link", { name: "Second" }).first().waitFor();
      await page
        .locator("li", { hasText: "long.c" })
        .getByText(/^First/)
        .waitFor();
      await page.locator("li", { hasText: "long.c" }).getByText("KiB").waitFor();
      await page.getByText("1 file is left out by").waitFor();
      t.same(await findViolations(page), []);
      await page.getByRole("link", { name: ".sourcegraph/ignore" }).click();
      await page.getByText("docs/omitted.txt").waitFor();
      await page.goBack();
      await page.getByRole("link", { name: "src/", exact: true }).click();
      await page.getByRole("link", { name: "a.ts" }).click();
      await page.getByText("export const needle = 2;").waitFor();
      t.match(page.url(), /\/example\.org\/code\/-\/blob\/src\/a\.ts$/);
      await page.goBack();
      await page.getByRole("link", { name: "<b>.ts" }).click();
      await page.getByText(`// ${hostile}`).waitFor();
      await page.goBack();
      await page.getByRole("link", { name: "\ufffdrow.ts" }).click();
      await page.locator(".hljs-keyword").getByText("const").waitFor();
      t.equal(
        (await page.locator(".file-lines .line").innerText()).trimEnd(),
        'const word = "\ufffdother\ufffd"; // \ufffdend',
      );
      t.notMatch(await page.locator("body").innerText(), /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
      await page.locator(".file-lines").focus();
      t.equal(await page.locator(".file-lines:focus").count(), 1, "what scrolls is reached by keyboard");
    });
  });

  await t.test("the finder finds files, symbols and repositories by parts of their names, by keys", async (t) => {
    await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
    await withPage(t, browser, at(""), {}, async (page) => {
      const chosen = page.locator('.finder [aria-selected="true"]');
      await page.getByRole("link", { name: "src/", exact: true }).waitFor();
      await page.keyboard.press("t");
      await page.getByRole("combobox", { name: "Part of a name in example.org/code" }).waitFor();
      await page.keyboard.type("srats:1");
      await chosen.getByText("src/a.ts").waitFor();
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/-\/blob\/src\/a\.ts\?L1$/);
      await page.locator(".line.selected").waitFor();
      await page.keyboard.press("/");
      await page.keyboard.press("Control+k");
      await page.locator(".finder input:focus").waitFor();
      await page.keyboard.type("four");
      await page.locator(".finder").getByRole("option", { name: "function · names/use.c" }).waitFor();
      t.same(await findViolations(page), []);
      await page.getByRole("button", { name: "Files" }).click();
      await page.locator(".finder input:focus").waitFor();
      await page.keyboard.type(" <");
      await page.getByText("Nothing has such a name.").waitFor();
      await page.getByRole("combobox", { name: /^Part of a name/ }).fill("ts");
      await page.locator(".finder").getByRole("option", { name: "src/<b>.ts" }).waitFor();
      t.notMatch(await page.locator(".finder").innerText(), /[\u202a-\u202e]/);
      await page.getByRole("button", { name: "Repositories" }).click();
      await page.locator(".finder input:focus").waitFor();
      await page.keyboard.press("Control+a");
      await page.keyboard.type("excode");
      await chosen.getByText("example.org/code").waitFor();
      await page.setViewportSize({ width: 375, height: 700 });
      await page.emulateMedia({ colorScheme: "dark" });
      t.same(await findViolations(page), []);
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/example\.org\/code$/);
      await page.locator(".finder").waitFor({ state: "hidden" });
    });
  });

  await t.test("the tree beside a file and the menu of revisions, by keys", async (t) => {
    fixture.git("tag", "-f", "v1", "main~1");
    await daemon.sync("example.org/code");
    await withPage(t, browser, at("/-/blob/names/one/many.h"), {}, async (page) => {
      const item = (name: string) => page.getByRole("treeitem", { name, exact: true });
      await page.locator('.tree-rows [aria-current="page"]').getByText("many.h").waitFor();
      await item("lib.c").waitFor();
      t.equal(await item("two").getAttribute("aria-expanded"), "false");
      await page.keyboard.press("f");
      await page.locator(".tree-rows a:focus").getByText("many.h").waitFor();
      await page.keyboard.press("ArrowDown");
      await page.locator(".tree-rows a:focus").getByText("two").waitFor();
      await page.keyboard.press("ArrowRight");
      await page.locator('.tree-row[aria-level="3"]').nth(1).waitFor();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/names\/two\/many\.h$/);
      await page.locator('.tree-rows [aria-current="page"]').waitFor();
      t.equal(await page.locator('.tree-row[aria-level="3"]').count(), 2, "what was open is open");
      t.same(await findViolations(page), []);
      await item("src").click();
      await item("\ufffdrow.ts").waitFor();
      await page.keyboard.press("v");
      const revisions = page.getByRole("region", { name: "Revisions" });
      await revisions.getByRole("link", { name: "First <img" }).waitFor();
      t.same(await findViolations(page), []);
      await page.keyboard.type("v1");
      await revisions.getByRole("link", { name: "main default" }).waitFor({ state: "detached" });
      await revisions.getByRole("link", { name: "v1", exact: true }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/example\.org\/code@v1\/-\/blob\/names\/two\/many\.h$/);
      await revisions.waitFor({ state: "detached" });
      // As soon as the menu is there, without a frame between.
      await page.evaluate(`new Promise((resolve) => {
        const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
        const observer = new MutationObserver(() => {
          if (document.querySelector(".revision-list") === null) return;
          observer.disconnect();
          press("Escape");
          resolve();
        });
        observer.observe(document.body, { childList: true, subtree: true });
        press("v");
      })`);
      await revisions.waitFor({ state: "detached" });
      await page.goto(at("@grown/-/blob/names/one/many.h"));
      await item("lib.c").waitFor();
      t.equal(await item("new.c").count(), 0);
      fixture.commit({ branch: "grown", files: { "names/new.c": "int fresh;\n" } });
      await daemon.sync("example.org/code");
      await item("lib.c").click();
      await page.waitForURL(/\/names\/lib\.c$/);
      await item("new.c").waitFor();
      await page.getByRole("button", { name: "Hide" }).click();
      await page.getByRole("tree").waitFor({ state: "detached" });
      await page.goto(at("/-/blob/src/a.ts"));
      await page.getByRole("button", { name: "Show the files" }).click();
      await page.getByRole("tree").waitFor();
    });
  });

  await t.test("a README in Markdown is rendered, its links are to files, and nothing in it runs", async (t) => {
    await withPage(t, browser, at("/-/tree/docs"), { allowed: [/status of 404/] }, async (page) => {
      const readme = page.locator(".readme");
      await readme.getByRole("heading", { name: "Guide" }).waitFor();
      await readme.getByRole("cell", { name: "cell" }).waitFor();
      await readme.getByRole("img", { name: "dot" }).waitFor();
      t.equal(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0, "no wider than the page");
      await readme.locator("pre").focus();
      t.equal(await readme.locator("pre:focus").count(), 1, "what scrolls is reached by keyboard");
      t.equal(await readme.locator("script, [onerror], [href^=javascript]").count(), 0);
      t.same(await findViolations(page), []);
      await readme.getByRole("link", { name: "more" }).click();
      await page.waitForURL(/\/-\/blob\/docs\/a\.md$/);
    });
  });

  await t.test("a Markdown file is rendered, and shown as its source where the address says so", async (t) => {
    await withPage(t, browser, at("/-/blob/seen/look.md"), {}, async (page) => {
      // A text is rendered and its code has colours if there is time for it, which a busy machine has the second time.
      await until("it is rendered, with colours", async () => {
        await page.locator(".markup, .file-lines").first().waitFor();
        if ((await page.locator(".markup .hljs-keyword").getByText("const").count()) > 0) return true;
        await page.reload();
        return false;
      });
      await page.getByRole("heading", { name: "Look", exact: true }).waitFor();
      await becomes(t, () => page.evaluate("document.querySelector('.markup img')?.naturalWidth"), 1, "its image");
      t.equal(await page.locator(".markup img").count(), 1, "one from elsewhere is its text");
      await page.getByText("far", { exact: false }).first().waitFor();
      await page.getByRole("link", { name: "[1]" }).press("Enter");
      await page.waitForURL(/#user-content-fn1$/);
      await page.getByRole("link", { name: "down", exact: true }).press("Enter");
      await until("the heading is in view", () => page.evaluate("scrollY > 300"));
      t.same(await findViolations(page), []);
      await page.getByRole("button", { name: "Rendered", pressed: true }).click();
      await page.waitForURL(/\?view=code$/);
      await page.locator(".file-lines").getByText("# Look").waitFor();
      t.equal(await page.getByRole("heading", { name: "Look", exact: true }).count(), 0);
      await page.goto(at("/-/blob/seen/look.md?L1"));
      await page.locator(".line.selected").getByText("# Look").waitFor();
      t.not(await page.title(), "attacked");
      await page.goto(at("/-/blob/src/a.ts"));
      await page.getByText("export const").first().waitFor();
      t.equal(await page.getByRole("button", { name: "Rendered" }).count(), 0);
    });
  });

  await t.test(
    "images, notebooks, tables and bytes are shown, broken ones too, and nothing in them runs",
    async (t) => {
      const options = { allowed: [/status of 404/], viewport: { width: 375, height: 700 } };
      await withPage(t, browser, at("/-/blob/seen/book.ipynb"), options, async (page) => {
        await page.locator(".notebook").getByRole("heading", { name: "Book" }).waitFor();
        await page.locator(".cell-code .hljs-keyword").getByText("def").waitFor();
        await page.locator(".cell-code .hljs-title").getByText("f", { exact: true }).waitFor();
        await page.locator(".cell-output").getByText("printed").waitFor();
        await page.getByRole("cell", { name: "frame" }).waitFor();
        await page.getByText("its data is damaged").waitFor();
        await becomes(t, () => page.locator(".cell-image").count(), 2, "images");
        await until("images are loaded", () =>
          page.evaluate("[...document.querySelectorAll('.cell-image')].every((image) => image.naturalWidth > 0)"),
        );
        t.equal(await page.locator("main script, main [onerror], main iframe").count(), 0);
        t.same(await findViolations(page), []);
        t.equal(await page.evaluate("document.documentElement.scrollWidth"), 375);
        await page.goto(at("/-/blob/seen/broken.ipynb"));
        await page.getByText("It is not valid JSON").waitFor();
        await page.goto(at("/-/blob/seen/table.csv"));
        await page.getByText("2 rows, 2 columns").waitFor();
        await page.getByRole("cell", { name: "<b>1</b>" }).first().waitFor();
        t.same(await findViolations(page), []);
        for (const [name, text] of [
          ["evil.svg", "20 × 10 pixels"],
          ["dot.png", "1 × 1 pixels"],
          ["broken.png", "The image cannot be shown"],
        ] as const) {
          await page.goto(at(`/-/blob/seen/${name}`));
          await page.getByText(text).waitFor();
        }
        t.notMatch(await page.title(), /attacked|^1/);
        await page.goto(at("/-/blob/data.bin"));
        await page.getByText("00000010  10 11 12").waitFor();
        t.same(await findViolations(page), []);
        await page.getByRole("link", { name: "Later bytes" }).click();
        await page.getByText("Bytes 4,096 to 4,999 of 5,000").waitFor();
        await page.getByText("00001000  00 01 02").waitFor();
      });
    },
  );

  await t.test("a file is highlighted, a click on a number selects its line, and blame names commits", async (t) => {
    await withPage(t, browser, at("@main/-/blob/src/a.ts?L1"), {}, async (page) => {
      await page.locator(".line.selected").getByText("export const needle = 2;").waitFor();
      await page.locator(".hljs-keyword", { hasText: "export" }).waitFor();
      await page.getByRole("button", { name: "Blame" }).click();
      const blame = page.locator("a.blame-commit");
      await blame.getByText("Second").waitFor();
      t.equal(await page.locator(".line[data-age]").count(), 1);
      t.match(
        await page.getByRole("link", { name: /^The file before commit/ }).getAttribute("href"),
        /\/a\.ts\?blame$/,
      );
      await until("the bar for a name is there", async () => {
        await page.locator(".line.selected code").dblclick({ position: { x: 12, y: 8 } });
        return (await page.locator(".word-bar").count()) > 0;
      });
      t.same(await findViolations(page), []);
      await page.keyboard.press("y");
      await page.waitForURL(/code@[0-9a-f]{40}\/-\/blob\/src\/a\.ts\?L1&blame$/);
      await blame.waitFor();
      await page.getByRole("link", { name: /^The file before commit/ }).click();
      await blame.getByText("First").first().waitFor();
      await page
        .getByRole("img", { name: /^Commit \w+ added the file$/ })
        .first()
        .waitFor();
      t.equal(await page.getByRole("link", { name: /^The file before commit/ }).count(), 0, "there is none");
      t.same(await findViolations(page), []);
      for (const _ of [1, 2]) {
        await page.keyboard.press("b");
        await blame.first().waitFor({ state: "detached" });
        await page.keyboard.press("b");
        await blame.first().waitFor();
      }
    });
  });

  await t.test("the outline follows what is read, and what a file is called can be copied", async (t) => {
    await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
    await withPage(t, browser, at("/-/blob/part.c"), {}, async (page) => {
      await page.locator(".file-tools").getByText("part.c").waitFor();
      await page.keyboard.press("o");
      const read = page.locator(".outline [aria-current]");
      await page.locator(".outline").getByText("part_0", { exact: true }).waitFor();
      await page.evaluate("window.scrollTo(0, 2_000)");
      await until("another symbol is read", async () => Number((await read.innerText()).slice("part_".length)) > 10);
      t.ok(await page.locator(".file-tools").getByText("part.c").isVisible(), "the path stays in sight");
      t.same(await findViolations(page), []);
      await page.getByLabel("Part of a name in the outline").fill("T_0");
      await becomes(t, () => page.locator(".outline li").count(), 1, "what has such a name");
      await becomes(t, () => read.count(), 0, "which is not what is read");
      await page.getByLabel("Part of a name in the outline").fill("none");
      await page.getByText("No symbol has such a name.").waitFor();
      await page.getByRole("heading", { name: "part.c" }).focus();
      await page.locator(".file-lines").focus();
      await page.keyboard.press("l");
      await page.getByRole("spinbutton", { name: "Line" }).waitFor();
      t.same(await findViolations(page), []);
      await page.keyboard.type("5");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/part\.c\?L5$/);
      await page.locator('.line.selected[data-line="5"]').waitFor();
      t.equal(await page.locator(".file-lines:focus").count(), 1, "the focus is where it was");
      const externalURLs = [{ url: "https://github.com/o/r/blob/main/part.c", serviceKind: "GITHUB" }];
      const data = { repository: { commit: { blob: { externalURLs } } } };
      await page.route(/graphql\?FileHosts/, (route) => route.fulfill({ json: { data } }));
      await page.reload();
      const host = page.getByRole("link", { name: "GitHub" });
      t.equal(await host.getAttribute("href"), "https://github.com/o/r/blob/main/part.c#L5");
      await page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })");
      await page.getByRole("button", { name: "Copy" }).click();
      await page.getByRole("button", { name: "Path", exact: true }).click();
      await page.getByRole("button", { name: "The browser refused" }).waitFor();
      await page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { globalThis.copied = text; } } })",
      );
      const copy = page.getByRole("button", { name: "Copy" });
      for (const [form, text] of [
        ["Path", /^part\.c$/],
        ["Permalink", /^http.*code@[0-9a-f]{40}\/-\/blob\/part\.c\?L5$/],
      ] as const) {
        await copy.click();
        await page.getByRole("button", { name: form, exact: true }).click();
        await page.getByRole("button", { name: `Copied: ${form.toLowerCase()}` }).waitFor();
        t.match(await page.evaluate("globalThis.copied"), text);
        await copy.and(page.getByText("Copy", { exact: true })).waitFor();
      }
      t.equal(await page.getByRole("link", { name: "Download" }).getAttribute("download"), "part.c");
    });
  });

  await t.test("a file in UTF-16 is shown as the text that a search finds", async (t) => {
    const answer = await fetch(
      `${daemon.url}/.api/search/stream?q=${encodeURIComponent("file:wide おはよう")}&cm=true`,
    );
    t.match(await answer.text(), /"line":1/);
    await withPage(t, browser, at("/-/blob/wide.txt?L2"), {}, async (page) => {
      await page.locator(".line.selected").getByText("Grüße, おはよう").waitFor();
    });
  });

  await t.test("a file of 20,000 lines is all in the document, and opens at the line of its address", async (t) => {
    await withPage(t, browser, at("/-/blob/long.c?L15000"), {}, async (page) => {
      await page.locator(".line.selected").getByText("int line_15000;").waitFor();
      await becomes(t, () => page.locator(".line").count(), lineCount, "all lines are in the document");
      await becomes(t, () => page.locator(".line.selected").isVisible(), true, "the line is in view");
      await page.locator(".line.selected .hljs-type").waitFor();
    });
  });

  await t.test("of a file that is too large for a page, the part around the line is shown", async (t) => {
    await withPage(t, browser, at("/-/blob/large.txt?L80000"), {}, async (page) => {
      await page
        .locator(".line.selected")
        .getByText(/^80000 x+$/)
        .waitFor();
      await becomes(t, () => page.locator(".line").count(), 1000, "a part of the lines");
      await becomes(t, () => page.locator(".line.selected").isVisible(), true, "the line is in view");
      t.same(await findViolations(page), []);
      const { width, height } = page.viewportSize() ?? { width: 1280, height: 720 };
      await page.setViewportSize({ width: 400, height });
      const rows = (await page.locator(".line.selected").boundingBox())?.height ?? 0;
      t.ok(rows > 0 && rows < 30, `a line longer than the screen is beside its number: ${rows} px`);
      await page.setViewportSize({ width, height });
      await page.getByRole("link", { name: "Later lines" }).click();
      await page
        .locator(".line.selected")
        .getByText(/^80800 x+$/)
        .waitFor();
    });
  });

  await t.test("where a name in the middle of a file is defined and used", async (t) => {
    await withPage(t, browser, at("/-/blob/long.c?L15000"), {}, async (page) => {
      // Highlighting replaces the text, and with it what is selected.
      await page.locator('.line.selected [class^="hljs"]').first().waitFor();
      const bar = page.locator(".word-bar");
      await until("the bar is there", async () => {
        await page.locator(".line.selected code").dblclick({ position: { x: 12, y: 8 } });
        return (await bar.count()) > 0;
      });
      const box = await bar.boundingBox();
      const height = page.viewportSize()?.height ?? 0;
      t.ok(box !== null && box.y > 0 && box.y + box.height <= height, "seen without scrolling");
      for (const name of ["Definitions here", "Definitions everywhere", "References"])
        await bar.getByRole("link", { name }).waitFor();
    });
  });

  await t.test("the function around what is read stays in sight, and a line has a menu", async (t) => {
    await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
    await withPage(t, browser, at("/-/blob/part.c"), {}, async (page) => {
      const scopes = page.getByRole("navigation", { name: "Around these lines" });
      const above = scopes.getByRole("link", { name: "int part_10(void)" });
      // Twice, because the bar of the file moves until it sticks.
      const scroll = `scrollBy(0, document.querySelector('.line[data-line="43"]').getBoundingClientRect().top -
        document.querySelector(".file-tools").getBoundingClientRect().bottom)`;
      const scrollThere = async (): Promise<void> => {
        await page.locator('.line[data-line="43"]').waitFor();
        for (let i = 0; i < 2; i++) await page.evaluate(scroll);
      };
      await scrollThere();
      await above.waitFor();
      t.equal(await scopes.getByRole("link").count(), 1);
      t.same(await findViolations(page), []);
      await page.keyboard.press("s");
      await above.waitFor({ state: "detached" });
      await page.reload();
      await page.getByRole("button", { name: "Scopes", pressed: false }).click();
      await scrollThere();
      await above.click();
      await page.waitForURL(/part\.c\?L41$/);

      const button = page.getByRole("button", { name: "What can be done with line 41" });
      const menu = page.getByRole("region", { name: "Line 41" });
      await button.click();
      const first = menu.getByRole("button", { name: "Copy permalink" }).and(page.locator(":focus"));
      await first.waitFor();
      t.same(await findViolations(page), []);
      await page.keyboard.press("Escape");
      await menu.waitFor({ state: "hidden" });
      await page.keyboard.press("m");
      await first.waitFor();
      for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.waitForURL(/part\.c\?L41&blame$/);
      await page.setViewportSize({ width: 375, height: 700 });
      await page.emulateMedia({ colorScheme: "dark" });
      await button.click();
      await menu.getByRole("button", { name: "Hide blame" }).waitFor();
      t.same(await findViolations(page), []);
      t.equal(await page.evaluate("document.documentElement.scrollWidth"), 375);
    });
  });

  await t.test("what a name means is shown beside it, by pointer and by keys", async (t) => {
    await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
    const options = { allowed: [/status of (401|429|502)/] };
    await withPage(t, browser, at("/-/blob/names/use.c"), options, async (page) => {
      const card = page.locator(".name-card");
      const panel = page.locator(".name-panel");
      /** Moves the pointer to a name of a line. */
      const point = async (line: number, name: string): Promise<void> => {
        await page.locator(`.line[data-line="${line}"] code`).waitFor();
        const { x, y } = await page.evaluate<{ x: number; y: number }>(`(() => {
          const texts = document.createTreeWalker(document.querySelector('.line[data-line="${line}"] > code'), 4);
          const range = document.createRange();
          for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
            const at = node.nodeValue.indexOf("${name}");
            if (at >= 0) range.setStart(node, at + 1), range.setEnd(node, at + 2);
          }
          return range.getBoundingClientRect();
        })()`);
        await page.mouse.move(x + 3, y + 5);
      };
      const pointUntil = async (line: number, name: string, text: string | RegExp): Promise<void> =>
        until(`the card of ${name}`, async () => {
          await page.mouse.move(1, 1);
          await point(line, name);
          await page.waitForTimeout(300);
          return (await card.filter({ hasText: text }).count()) > 0;
        });

      await pointUntil(5, "helper", `int helper(int n) /* \ufffd${hostile} */`);
      await card.getByText("by name").waitFor();
      t.same(await findViolations(page), []);
      await page.keyboard.press("r");
      await panel.locator("a:focus").waitFor();
      for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowUp");
      await page.keyboard.type("LIB.h");
      await panel.getByText("1 use in 1 file shown").waitFor();
      t.equal(await panel.locator("summary").count(), 1);
      t.same(await findViolations(page), []);
      await page.keyboard.press("Escape");
      await panel.getByText("names/use.c 1").waitFor();
      await page.keyboard.press("Escape");
      await panel.waitFor({ state: "detached" });
      await pointUntil(5, "helper", "by name");
      await page.keyboard.down("Control");
      await page.mouse.down();
      await page.mouse.up();
      await page.keyboard.up("Control");
      await page.waitForURL(/\/names\/lib\.c\?L1$/);
      await page.goBack();
      await page.waitForURL(/\/names\/use\.c\?L5$/);

      await pointUntil(5, "many", "2 definitions");
      await page.mouse.down();
      await page.mouse.up();
      await panel.getByRole("link", { name: "names/one/many.h:1" }).waitFor();
      t.equal(await panel.locator("li").count(), 2);
      await page.keyboard.press("Escape");
      await panel.waitFor({ state: "detached" });

      await page.goto(at("/-/blob/names/use.c?L10"));
      await page.locator('.line[data-line="10"] [class^="hljs"]').first().waitFor();
      await until("a key has chosen a name", async () => {
        await page.keyboard.press("]");
        return (await card.count()) > 0;
      });
      await page
        .getByText("twice: function in names/use.c, line 3, by name. int twice(int n)")
        .waitFor({ state: "attached" });
      await becomes(
        t,
        () => page.evaluate("globalThis.CSS.highlights.get('trawl-name-uses')?.size"),
        2,
        "where else the name stands is marked",
      );
      await page.keyboard.press("r");
      await panel.locator("a:focus").getByText("int twice(int n)").waitFor();
      await page.keyboard.press("ArrowDown");
      await panel.locator("a:focus").getByText("return twice(2);").waitFor();
      t.same(await findViolations(page), []);
      await page.keyboard.press("d");
      await page.waitForURL(/\/names\/use\.c\?L3$/);
      await panel.waitFor();

      for (const [status, headers, text] of [
        [429, { "Retry-After": "7" }, "Try again in 7 seconds."],
        [401, {}, "Sign in"],
        [502, { "Content-Type": "text/html" }, "A proxy between this page and the server answered"],
      ] as const) {
        await page.route(/graphql\?NameDefinitions/, (route) => route.fulfill({ status, headers, body: "<b>no</b>" }));
        await pointUntil(5, "both", text);
        await page.unroute(/graphql\?NameDefinitions/);
      }
      t.same(await findViolations(page), []);
      await page.setViewportSize({ width: 375, height: 700 });
      await page.emulateMedia({ colorScheme: "dark" });
      t.same(await findViolations(page), []);
      t.equal(await page.evaluate("document.documentElement.scrollWidth"), 375);
      await page.goto(at("/-/blob/names/one.js"));
      await page.getByText(/more characters$/).waitFor();
      await pointUntil(1, "first", "const first = 1;");
    });
  });

  await t.test("what is not text, does not exist or is no page is said, with its status", async (t) => {
    // Frames in which it is said that there is no repository, beside the way to its other pages.
    const init = `globalThis.wrongFrames = 0;
      const look = () => {
        if (document.querySelector(".code-tabs") && /no such repository/.test(document.body.innerText)) globalThis.wrongFrames++;
        requestAnimationFrame(look);
      };
      requestAnimationFrame(look);`;
    const options = { allowed: [/status of 404/], init };
    await withPage(t, browser, at("/-/blob/data.bin"), options, async (page) => {
      await page.getByText("The file is not text.").waitFor();
      await page.goto(`${daemon.url}/example.org/none`);
      await page.getByRole("heading", { name: "There is no such repository" }).waitFor();
      t.equal(await page.getByRole("link", { name: "Commits" }).count(), 0, "it has no other pages");
      t.equal(await page.evaluate("wrongFrames"), 0, "and is not shown with them for a moment");
      for (const [path, heading] of [
        ["/-/blob/none", "There is no such file"],
        ["@none", "There is no such revision"],
        ["/-/nothing", "There is no such page"],
      ] as const) {
        await page.goto(at(path));
        await page.getByRole("heading", { name: heading }).waitFor();
        await page.getByRole("link", { name: "Commits", exact: true }).waitFor();
      }
    });
    const markup = { headers: { Accept: "text/html" } };
    t.equal((await fetch(`${daemon.url}/example.org/none`, markup)).status, 404);
    t.equal((await fetch(at(""), markup)).status, 200);
    t.match((await fetch(at("/-/blob/src/a.ts"))).headers.get("content-type"), /^text\/plain/);
  });

  await t.test("how long ago something was is told by the clock of the server", async (t) => {
    const told: string[] = [];
    for (const shiftMs of [0, 10 * yearMs, -10 * yearMs])
      await withPage(t, browser, at("/-/commits"), { init: shiftedClock(shiftMs) }, async (page) => {
        told.push(await page.locator("time").first().innerText());
      });
    t.same(told.slice(1), [told[0], told[0]]);
  });

  await t.test("changes: words, white space, the lines around them, and both forms, by keys", async (t) => {
    await withPage(t, browser, at("/-/commit/spaced"), {}, async (page) => {
      const first = page.locator(".file-diff", { hasText: "numbers.c" });
      await first.locator("tr.added mark").getByText("1000", { exact: true }).waitFor();
      t.same(await first.locator("mark").allInnerTexts(), ["\t", "100", "1000"]);
      await first.getByRole("button", { name: "↑ 20 lines before line 47" }).press("Enter");
      await first.locator("td.code").getByText("int line_27 = 27;", { exact: true }).waitFor();
      await first.locator("tr", { hasText: "int line_27 = 27;" }).locator(".hljs-number").waitFor();
      t.equal(await first.locator("td.code").getByText("int line_26 = 26;").count(), 0);
      await first.getByRole("button", { name: "Show 26 lines" }).press("Enter");
      await first.locator("td.code").getByText("int line_1 = 1;", { exact: true }).waitFor();
      t.equal(await page.locator(".diff-scroll:focus").count(), 1, "the keyboard goes on from there");
      await first.getByRole("button", { name: "↓ 20 lines from line 54" }).click();
      await first.locator("tr", { hasText: "int line_73 = 73;" }).waitFor();
      await first.getByRole("button", { name: "↓ 20 lines from line 104" }).click();
      await first.locator("tr", { hasText: "int line_120 = 120;" }).waitFor();
      t.equal(await first.getByRole("button", { name: "from line 121" }).count(), 0, "the file ends there");
      t.same(await findViolations(page), []);
      await first.getByRole("button", { name: "Whole file" }).click();
      await first.locator("tr", { hasText: "int line_80 = 80;" }).waitFor();
      t.equal(await first.locator(".hunk-head").count(), 0);
      t.equal(await first.locator("tr").count(), 122, "each line once, and two twice");
      await page.keyboard.press("w");
      await page.waitForURL(/\?w=1$/);
      await page.getByText("2 files changed +1 −1").waitFor();
      await page.getByText(/its white space changed/).waitFor();
      t.equal(await page.locator("tr.added").count(), 1);
      await page.keyboard.press("j");
      await page.locator("summary:focus").waitFor();
      await page.getByRole("button", { name: "Side by side" }).click();
      await page.waitForURL(/\?w=1&diff=split$/);
      await page.locator("td.added mark").getByText("1000").waitFor();
      await page.getByRole("button", { name: "↑ 20 lines before line 97" }).click();
      await page.locator(".split tr", { hasText: "int line_77 = 77;" }).waitFor();
      t.same(await findViolations(page), []);
      await page.goto(at("/-/commit/spaced"));
      await page.locator(".diff.split").first().waitFor();
      await page.setViewportSize({ width: 420, height: 800 });
      await page.locator(".diff.unified").first().waitFor();
      t.same(await findViolations(page), []);
    });
  });

  await t.test("commits, their changes, comparisons, branches and contributors", async (t) => {
    await withPage(t, browser, at("@moved/-/commits/moved.c"), {}, async (page) => {
      await page.getByRole("link", { name: "Moved" }).waitFor();
      await page.getByRole("link", { name: "First" }).waitFor();
      await page.getByRole("link", { name: "Moved" }).click();
      await page.locator(".file-diff").getByText("moved.c", { exact: false }).first().waitFor();
      t.notMatch(await page.locator("main").innerText(), /[\u202a-\u202e]/, "text is shown in its own order");
      for (const path of ["names/lib.c", "names"]) {
        await page.goto(at(`@moved/-/commits/${path}`));
        await page.getByRole("link", { name: "Search these commits" }).click();
        await page.waitForURL(/\/search\?q=/);
        await page.locator(".result").getByText("Moved").first().waitFor();
      }
      await page.goto(at("/-/commits"));
      await page.getByRole("link", { name: `First ${hostile}` }).waitFor();
      await page.getByRole("link", { name: "Second" }).click();
      await page.getByText("With a \ufffdbody.").waitFor();
      const link = page.getByRole("link", { name: "https://example.org/why", exact: true });
      t.equal(await link.getAttribute("href"), "https://example.org/why");
      await page.locator("tr.added").getByText("export const needle = 2;").waitFor();
      await page.locator(".diff-scroll").focus();
      t.equal(await page.locator(".diff-scroll:focus").count(), 1, "what scrolls is reached by keyboard");
      t.same(await findViolations(page), []);
      await page.locator("tr.added .hljs-number").getByText("2").waitFor();
      await page.locator("tr.removed .hljs-string").getByText('"text"').waitFor();
      await page.getByRole("button", { name: "Side by side" }).click();
      await page.locator("td.removed").getByText('const other = "text";').waitFor();
      await page.locator("td.removed .hljs-keyword").getByText("const").first().waitFor();
      await page.getByRole("link", { name: "Branches" }).click();
      await page.getByRole("link", { name: "main", exact: true }).waitFor();
      t.same(await findViolations(page), []);
      await page.getByRole("link", { name: "Contributors" }).click();
      await page.getByRole("link", { name: "2 commits" }).waitFor();
      t.same(await findViolations(page), []);
      await page.goto(at("/-/compare/HEAD~1...main"));
      await page.getByText("1 commit", { exact: true }).waitFor();
      await page.locator('datalist option[value="many"]').waitFor({ state: "attached" });
      await page.getByLabel("Head").fill("many");
      await page.getByRole("button", { name: "Compare" }).click();
      await page.waitForURL(/\/-\/compare\/HEAD~1\.\.\.many$/);
      await page.getByText("more than 50 commits").waitFor();
      t.same(await findViolations(page), []);
      await page.locator(".diff-files > summary").click();
      await page.getByRole("button", { name: "many/1", exact: true }).press("Enter");
      await page.locator("summary:focus").getByText("many/1", { exact: true }).waitFor();
      t.same(await findViolations(page), []);
      await page.getByRole("button", { name: "More commits" }).click();
      await page.getByText("53 commits", { exact: true }).waitFor();
      t.equal(await page.locator(".commit-list li").count(), 53);
      await page.getByText("100 of 103 are shown.").waitFor();
      const request = page.waitForRequest(/graphql\?ComparisonFiles/);
      await page.getByRole("button", { name: "More files" }).click();
      t.match((await request).postData(), /"base":"[0-9a-f]{40}","head":"[0-9a-f]{40}"/, "of the same commits");
      await becomes(t, () => page.locator(".file-diff").count(), 103, "all files");
      t.equal(await page.getByRole("button", { name: /^More/ }).count(), 0);
      await page.getByRole("button", { name: "Swap" }).click();
      await page.waitForURL(/\/-\/compare\/many\.\.\.HEAD~1$/);
    });
  });
});
