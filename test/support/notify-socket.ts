/**
 * systemd's side of its notification protocol: a Unix datagram socket, which python3 supports and Node does not.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Test } from "tap";
import { within } from "./waiting.js";

const listener = `import json, socket, struct, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1].replace("@", "\\0", 1) if sys.argv[1].startswith("@") else sys.argv[1])
print("{}", flush=True)
while True:
  text, extra, _, _ = s.recvmsg(65536, 256)
  pid = struct.unpack("iII", extra[0][2])[0]
  print(json.dumps({"pid": pid, "text": text.decode(), "atMs": time.monotonic() * 1000}), flush=True)`;

export interface Notice {
  /** The process that sent it, according to the kernel. */
  readonly pid: number;
  readonly text: string;
  /** The time at which it arrived, on the monotonic clock. */
  readonly atMs: number;
}

/**
 * Listens at an address for NOTIFY_SOCKET until the test ends. Messages are added to `notices`; after `pause` they are
 * no longer read.
 */
export async function notifySocket(
  t: Test,
  address: string,
): Promise<{ readonly notices: readonly Notice[]; readonly pause: () => void }> {
  const child = spawn("python3", ["-c", listener, address], { stdio: ["ignore", "pipe", "inherit"] });
  t.teardown(() => child.kill("SIGKILL"));
  const notices: Notice[] = [];
  const lines = createInterface({ input: child.stdout });
  const listening = new Promise<void>((resolve, reject) => {
    lines.once("line", () => {
      lines.on("line", (line) => notices.push(JSON.parse(line) as Notice));
      resolve();
    });
    child.once("error", reject);
  });
  await within(listening, "the notify socket");
  return { notices, pause: () => child.kill("SIGSTOP") };
}
