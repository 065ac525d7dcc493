/** Requests of known clients, rewritten from the description of the interface, and what they need of the responses. */
import t from "tap";
import { cody, mcp, permissionSync, raycast } from "../../clients/assistants.js";
import { mainGo, readme, type ClientFixture, type ClientRequest } from "../../clients/client-request.js";
import { jetbrains, nvim, vscode } from "../../clients/editors.js";
import { srcCli } from "../../clients/src-cli.js";
import { web } from "../../clients/web.js";
import { testDaemon, withSymbols } from "../../support/daemon.js";
import { isFull } from "../../support/full-run.js";
import { GitFixture } from "../../support/git-fixture.js";
import { until } from "../../support/waiting.js";

const clients: Readonly<Record<string, readonly ClientRequest[]>> = {
  src: srcCli,
  "VS Code": vscode,
  JetBrains: jetbrains,
  "sg.nvim": nvim,
  Cody: cody,
  MCP: mcp,
  Raycast: raycast,
  "permission sync": permissionSync,
  web: web,
};

t.test("clients", async (t) => {
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  const parent = source.commit({
    branch: "main",
    message: "The first\n",
    files: {
      "README.md": readme,
      "src/main.go": mainGo.replace(/\/\/ greet[^]*/, ""),
      "src/util.go": "package main\n",
    },
  });
  source.tag("v1.0", parent);
  source.updateRef("refs/heads/feature", parent);
  const feature = source.commit({ branch: "feature", files: { "src/feature.go": "package main\n" } });
  const head = source.commit({
    branch: "main",
    message: "Greet\n\nPeople like it.\n",
    files: { "src/main.go": mainGo },
  });
  const daemon = await testDaemon(t, withSymbols);
  const fixture: ClientFixture = { name: "example.org/demo", head, parent, feature, cloneUrl: source.path };
  await daemon.add(fixture.name, source.path);
  await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);

  const admin = { Authorization: `token ${await daemon.addToken("admin")}` };

  for (const [client, requests] of Object.entries(clients)) {
    await t.test(client, async (t) => {
      for (const [i, request] of requests.entries()) {
        const answers: string[] = [];
        // The first response comes from graphql-js, the second from the operation compiled by graphql-jit, which takes longer
        // than both responses: in `make test` every second one is compiled.
        for (const use of isFull || i % 2 === 0 ? ["first", "second"] : ["first"]) {
          const response = await fetch(`${daemon.url}/.api/graphql?${encodeURIComponent(request.name)}`, {
            method: "POST",
            headers: request.asAdmin === true ? admin : {},
            body: JSON.stringify({ query: request.query, variables: request.variables?.(fixture) ?? null }),
          });
          const text = await response.text();
          answers.push(text.replace(/"(elapsedMilliseconds|lastActiveTime)":(\d+|null|"[^"]*")/g, ""));
          const answer = JSON.parse(text) as { readonly data?: unknown; readonly errors?: unknown };
          if (request.error === undefined) t.equal(answer.errors, undefined, `${request.name}: no errors, ${use} use`);
          else t.match(answer.errors, [{ message: request.error }], `${request.name}: an error, ${use} use`);
          if (request.data !== undefined)
            t.match(answer.data, request.data(fixture), `${request.name}: data, ${use} use`);
        }
        t.equal(answers.at(-1), answers[0], `${request.name}: both the same`);
      }
    });
  }
});
