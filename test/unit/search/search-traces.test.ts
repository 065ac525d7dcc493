import t from "tap";
import { anonymous, operatorViewer } from "../../../src/model/viewer.js";
import { TraceStore } from "../../../src/search/report/latest-searches.js";

t.test("viewers can read only their own traces", (t) => {
  const store = new TraceStore();
  const alice = { ...anonymous, userId: 1 };
  const bob = { ...anonymous, userId: 2 };
  const ids = [store.newId(), store.newId()] as const;
  store.add(ids[0], () => "alice's", alice);
  store.add(ids[1], () => "somebody's", anonymous);
  t.same(
    [alice, bob, anonymous, operatorViewer].map((viewer) => store.get(ids[0], viewer)),
    ["alice's", undefined, undefined, "alice's"],
  );
  t.same(
    [alice, anonymous].map((viewer) => store.get(ids[1], viewer)),
    ["somebody's", "somebody's"],
    "who has no account shows the id",
  );
  for (const guess of ["0", "1", "2", "", "constructor"])
    t.equal(store.get(guess, anonymous), undefined, `no search is at ${guess}`);
  t.match(ids[1], /^[0-9a-f-]{36}$/);
  t.equal(new Set(Array.from({ length: 1000 }, () => store.newId())).size, 1000);
  t.end();
});
