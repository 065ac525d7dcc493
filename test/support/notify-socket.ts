/**
 * The other end of systemd's protocol for services: a Unix datagram socket, which Node does not have and python3 does.
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
  /** The process that sent it, as the system says. */
  readonly pid: number;
  readonly text: string;
  /** When it came, on the monotonic clock. */
  readonly atMs: number;
}

/**
 * Listens at an address as of NOTIFY_SOCKET until the test ends. What comes is added to `notices`; after `pause` nobody
 * reads.
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
