/** Which answers of tools are kept, until when, and for whom. */
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import type { RequestContext } from "../../../src/browse/request-context.js";
import { defineTool, integer, requiredText } from "../../../src/mcp/calls/tool.js";
import { ToolCalls } from "../../../src/mcp/calls/tool-calls.js";

/** A daemon whose catalog, viewers and budgets the tests set. */
class Scene {
  version = 1;
  refusal: { readonly message: string } | undefined;
  /** Runs while a tool works. */
  meanwhile: () => void = () => undefined;
  isRepeatable = true;
  runCount = 0;
  readonly calls = new ToolCalls(silentLog(), createMetrics().metrics);
  readonly tool = defineTool({
    name: "echo",
    title: "Echo",
    description: "",
    fields: { text: requiredText(""), size: integer(0, 1e6, 0, "") },
    run: async ({ text, size }) => {
      this.runCount++;
      await Promise.resolve();
      this.meanwhile();
      const head = { text, run: this.runCount, filling: "x".repeat(size) };
      return { head, excluded: [], isRepeatable: this.isRepeatable };
    },
  });

  /** Calls the tool for a viewer of the table with this id, and returns which run gave the answer. */
  async call(text: string, tableId = 1, size = 0): Promise<number | string> {
    const services = { catalog: this, searcher: { admit: () => this.refusal } };
    const context = { services, repositories: { id: tableId }, client: "c" } as unknown as RequestContext;
    const args = size === 0 ? { text } : { text, size, max_bytes: 262_144 };
    const { isError, text: answer } = await this.calls.call(this.tool, args, context);
    return isError ? answer : (JSON.parse(answer) as { run: number }).run;
  }
}

t.test(
  "a repeatable answer is given again, to viewers of the same repositories, until the catalog changes",
  async (t) => {
    const scene = new Scene();
    t.same([await scene.call("a"), await scene.call("a"), await scene.call("b")], [1, 1, 2]);
    t.same([await scene.call("a", 2), await scene.call("a", 2), await scene.call("a", 1)], [3, 3, 1]);
    scene.version++;
    t.same([await scene.call("a"), await scene.call("a"), await scene.call("b")], [4, 4, 5]);
  },
);

t.test("an answer is not kept if it depends on more, or if the catalog changed meanwhile", async (t) => {
  const scene = new Scene();
  scene.isRepeatable = false;
  t.same([await scene.call("a"), await scene.call("a")], [1, 2]);
  scene.isRepeatable = true;
  scene.meanwhile = () => scene.version++;
  t.same([await scene.call("a"), await scene.call("a")], [3, 4]);
  scene.meanwhile = () => undefined;
  t.same([await scene.call("a"), await scene.call("a")], [5, 5]);
  t.match(await scene.call("", 1), /echo: text must not be empty/);
  t.match(await scene.call("", 1), /echo: text must not be empty/, "errors are not kept");
});

t.test("a client that may not search does not get a kept answer either", async (t) => {
  const scene = new Scene();
  t.equal(await scene.call("a"), 1);
  scene.refusal = { message: "the budget is spent" };
  t.equal(await scene.call("a"), "echo: the budget is spent");
  scene.refusal = undefined;
  t.equal(await scene.call("a"), 1);
});

t.test("the memory of kept answers is bounded: those that were used last remain", async (t) => {
  const scene = new Scene();
  // 16 MiB hold 41 of them, at two bytes for each character.
  for (let i = 0; i < 60; i++) await scene.call(`call ${i}`, 1, 200_000);
  t.equal(scene.runCount, 60);
  await scene.call("call 59", 1, 200_000);
  await scene.call("call 25", 1, 200_000);
  t.equal(scene.runCount, 60);
  await scene.call("call 0", 1, 200_000);
  t.equal(scene.runCount, 61);
  await scene.call("long", 1, 261_000);
  await scene.call("long", 1, 261_000);
  t.equal(scene.runCount, 62, "an answer of 261 kB is still kept");
});
