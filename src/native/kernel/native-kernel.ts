import { loadAddon } from "../addon.js";
import type { Kernel } from "./kernel.js";

/** The kernel of the C++ addon, on the widest vector unit there is; throws `bad-config` when the addon is not built. */
export function nativeKernel(): Kernel {
  const { avx2, neon, swar } = loadAddon().kernels;
  return { name: "native", ...(avx2 ?? neon ?? swar) };
}
