/** Each bound that the native code checks is checked; `make mutate-native` shows whether these tests would notice. */
import t from "tap";
import { addonIfBuilt } from "../../../src/native/kernel/addon.js";
import { findBoundFaults } from "../../support/native-bounds.js";

const addon = addonIfBuilt();

t.test("hostile values are refused", { skip: addon === undefined ? "the addon is not built" : false }, async (t) => {
  if (addon === undefined) return;
  t.same(findBoundFaults(addon), []);
});
