/** Uploaded indexes of a package and of its user, in two repositories, as scip-typescript 0.4 has written them. */
import t from "tap";
import { fixture } from "../../support/git-mirror.js";
import { GraphqlSite } from "../../support/graphql-site.js";

const shapes = {
  text: `/** What has an area. */
export interface Shape {
  area(): number;
}

/** A circle. */
export class Circle implements Shape {
  constructor(readonly radius: number) {}

  area(): number {
    return this.radius ** 2;
  }
}
`,
  index:
    "H4sIAAAAAAACA7WUzU7bQBDHvXEalClRYZFC2Ah1CT3EB+yAEFKtBIFSDqhIHFDFicrbzUYx8pd2NxJceAHuPEEfoQ9Yx04oVJxic/TMzm/+82" +
    "X4ilvwSXE/2dP3iVBc+onGH3r2od0j7bEfCNdxHB0mjh9pETjjO0dNWPqQIvzUgFUleeoZiTtbK3wGpmEY+Og/HI2SkJ4wHopF7L59YPfoLNZb" +
    "BHtOC7lVZDQM/B1MtN7E/eUwVzPfbg4zEb4As1Kp4WERGJOCdS27ldFqjQ08WI429CUPcm01YxXhYUr7/KVYofgGzJVKA18WkuT1eRwpLadcx/" +
    "LYy4p1U66FvRS/uY2vS8Z3JRv5U2WlPb0Cs55O6FuhDM8jcqv1ykcT/wQT1prvJpv8gCW3nLQ9z9MKwng0DQTtLDwdSO0kgELLQLZy+OxW5Zhx" +
    "QTN7hl6/njBNJ0xRFtFZu2xyC2WcBdnNk3ZDoSfxyKK5nQ6OaTQNfwmZpf+NoNjVkGaehgdMKZobM3L9lPLsy+6cQMGfBnlEUPYlkb258H/2+R" +
    "q58wZZ7tv1kAd4twVeDC2RcSKkvrfoa02ZlD8ISjlLsvPmirzM1TkvZRnXUAv9BebbrrTUBgAA",
};

const app = {
  text: `import { Circle, Shape } from "@acme/shapes";

class Triangle implements Shape {
  area(): number {
    return 1;
  }
}

export const all: Shape[] = [new Circle(1), new Triangle()];
`,
  index:
    "H4sIAAAAAAACA62TzU7CQBSFWyoExih4F9p0oQMshETbQgwxCIrgRjdqJG6MSccySJO2NDODwUfhNXxCp/xsTDCRupwzud+cc+8d1AAd5bnrRa" +
    "fiM6LcZV4kIG2bZ6Zt6EPPp03LskQQWV4oqG8NpxaJIqzCDKFtzlwrIF5oCg7XSFMUBeo/UDiMAtwhbkDndbZZM20c1znLQsfS1eaWouQUuJGI" +
    "XB7a6xF8RKSKa2Z9RfHCAZ3OMT2PuT4tQ09S9vahtRnlKb4rQ1tCDk+gsRkE7pCWyuzCxd+b0WceCd9ljrgrKSWjxnlSxlHCPI9Ik46gm8AQYZ" +
    "RUqmbsS0ulNbhCWnan8FuL1iGJ70tMHCwLBwmDPUtI8RjuE+2M03LHIRds4ooxu3RkSuhKrn2eaILGA9rgNxiG4ziCo2A8mPgUl5YXJSRlY6ai" +
    "RI70Bdv1Ced4JcfkUgclmoOuGl8q+of1MooLi5WAitF4UMULvYnDSfBG2dzrLeol8bp8qaBK03204f6uxvRBGJbnJp6zX15jg9++kazaVAUAAA" +
    "==",
};

const site = await GraphqlSite.start(t);
const [library, user] = [fixture(t), fixture(t)];
const libraryCommit = library.commit({ branch: "main", files: { "src/index.ts": shapes.text } });
const userCommit = user.commit({ branch: "main", files: { "src/main.ts": app.text } });

async function upload(repository: string, commit: string, index: string): Promise<void> {
  const query = new URLSearchParams({ repository, commit });
  const response = await fetch(`${site.daemon.url}/.api/scip/upload?${query}`, {
    method: "POST",
    headers: { authorization: site.authorization("admin") ?? "" },
    body: new Uint8Array(Buffer.from(index, "base64")),
  });
  t.equal(response.status, 202, await response.text());
}

type Found = Readonly<Record<string, unknown>>;

/** What is known about the first place of a name in a line that begins so. */
async function ask(
  asker: "ann" | "bob",
  name: string,
  start: string,
  fields: string,
  repository = "acme/app",
): Promise<Found> {
  const [path, text] = repository === "acme/app" ? ["src/main.ts", app.text] : ["src/index.ts", shapes.text];
  const lines = text.split("\n");
  const line = lines.findIndex((other) => other.startsWith(start));
  const query = `query ($n: String!, $p: String!, $l: Int!, $c: Int!) { repository(name: $n) { commit(rev: "") { blob(path: $p) { ${fields} } } } }`;
  const character = lines[line]?.indexOf(name) ?? -1;
  const found = await site.data<{ repository: { commit: { blob: Found } } }>(asker, query, {
    n: repository,
    p: path,
    l: line,
    c: character,
  });
  return found.repository.commit.blob;
}

const definition =
  "definitions(line: $l, character: $c) { precision isUnique nodes { signature documentation nearness symbol { kind url } } }";
const list = "(line: $l, character: $c) { precision matchCount limitHit files { file { url } lines { line } } }";

t.before(async () => {
  await site.daemon.add("acme/shapes", library.path);
  await site.daemon.add("acme/app", user.path);
  await upload("acme/shapes", libraryCommit, shapes.index);
  await upload("acme/app", userCommit, app.index);
});

t.test("a definition in another repository", async (t) => {
  t.match(await ask("ann", "Shape", "class Triangle", definition), {
    definitions: {
      precision: "PRECISE",
      isUnique: true,
      nodes: [
        {
          signature: "interface Shape",
          documentation: "What has an area.",
          nearness: "OTHER_REPOSITORY",
          symbol: { kind: "INTERFACE", url: "/acme/shapes/-/blob/src/index.ts?L2:18-2:23" },
        },
      ],
    },
  });
  t.match(
    await ask("ann", "Shape", "class Triangle", "hover(line: $l, character: $c) { precision markdown { text } }"),
    {
      hover: {
        precision: "PRECISE",
        markdown: { text: "```typescript\ninterface Shape\n```\n\n---\n\nWhat has an area." },
      },
    },
  );
  const lsif =
    "lsif { definitions(line: $l, character: $c) { nodes { canonicalURL } } prototypes(line: $l, character: $c) { nodes { url } } }";
  t.match(await ask("ann", "Triangle", "class Triangle", lsif), {
    lsif: {
      definitions: { nodes: [{ canonicalURL: /\/acme\/app@\w+\/-\/blob\/src\/main\.ts\?L3/ }] },
      prototypes: { nodes: [{ url: "/acme/shapes/-/blob/src/index.ts?L2:18-2:23" }] },
    },
  });
});

t.test("uses and implementations in other repositories", async (t) => {
  const own = { file: { url: "/acme/shapes/-/blob/src/index.ts" } };
  const other = { file: { url: "/acme/app/-/blob/src/main.ts" } };
  t.match(await ask("ann", "Shape", "export interface", `references${list} implementations${list}`, "acme/shapes"), {
    references: {
      precision: "PRECISE",
      matchCount: 5,
      limitHit: false,
      files: [
        { ...own, lines: [{ line: 1 }, { line: 6 }] },
        { ...other, lines: [{ line: 0 }, { line: 2 }, { line: 8 }] },
      ],
    },
    implementations: {
      matchCount: 2,
      files: [
        { ...own, lines: [{ line: 6 }] },
        { ...other, lines: [{ line: 2 }] },
      ],
    },
  });
  t.match(
    await ask("ann", "Shape", "import", `references${list}`),
    { references: { matchCount: 5, files: [other, own] } },
    "from the user of the package, its own uses come first",
  );
  const uses = "lsif { references(line: $l, character: $c, first: 9) { nodes { url } } }";
  t.match(await ask("ann", "Circle", "import", uses), {
    lsif: { references: { nodes: [{ url: /main\.ts\?L1/ }, { url: /index\.ts\?L7/ }] } },
  });
});

t.test("what a repository has that the reader may not see", async (t) => {
  await site.daemon.control("POST", "/.api/repos/acme%2Fshapes/attributes", { private: true, readers: ["bob"] });
  t.match(await ask("bob", "Shape", "class Triangle", definition), { definitions: { precision: "PRECISE" } });
  const hidden = await ask("ann", "Shape", "class Triangle", `${definition} references${list}`);
  t.match(hidden, { references: { precision: "PRECISE", matchCount: 3 } });
  t.notMatch(JSON.stringify(hidden), /acme\/shapes/, "nothing of it");
});
