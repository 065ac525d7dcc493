/** The measure itself: an idle daemon costs nothing, and one that is kept busy is seen. */
import t from "tap";
import { measured, underAttack, usualBounds } from "../support/attack.js";
import { testDaemon } from "../support/daemon.js";

const daemon = await testDaemon(t);

t.test("ordinary requests stay within the bounds", async (t) => {
  await daemon.get("/healthz");
  const { status } = await underAttack(t, daemon, usualBounds, "healthz", () => daemon.get("/healthz"));
  t.equal(status, 200);
});

t.test("a main thread that is away is seen", async (t) => {
  const { cost } = await measured(daemon, () => daemon.stall(300));
  t.ok(cost.awayMs >= 280, `${cost.awayMs} ms`);
});
