import type { Kernel } from "./kernel.js";
import { nativeKernel } from "./native-kernel.js";
import { portableKernel } from "./portable.js";

/** The kernel of that kind; throws `bad-config` when the native one is asked for and not built. */
export function loadKernel(kind: Kernel["name"]): Kernel {
  switch (kind) {
    case "native":
      return nativeKernel();
    case "ts":
      return portableKernel;
  }
}
