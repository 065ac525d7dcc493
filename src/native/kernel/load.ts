import type { Kernel } from "./kernel.js";
import { nativeKernel } from "./native-kernel.js";
import { portableKernel } from "./portable.js";

/** Returns the kernel of this kind. Throws `bad-config` for the native kernel if the addon is not built. */
export function loadKernel(kind: Kernel["name"]): Kernel {
  switch (kind) {
    case "native":
      return nativeKernel();
    case "ts":
      return portableKernel;
  }
}
