/**
 * Acts as systemd for a service of `Type=notify` with `FileDescriptorStoreMax=`: starts the program, stores the
 * descriptors that it sends, and passes them to the next start. python3 implements the protocol, because Node cannot
 * pass descriptors.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { Test } from "tap";
import { until, within } from "./waiting.js";

const manager = `import array, fcntl, json, os, signal, socket, sys, threading
address, program = sys.argv[1], sys.argv[2:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(address)
kept, child = {}, 0
def say(**what): os.write(1, (json.dumps(what) + "\\n").encode())
def start():
  global child
  child = os.fork()
  if child != 0: return say(started=child)
  environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "NOTIFY_SOCKET": address}
  # Out of the way of the numbers that they get.
  high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 50) for fd in kept.values()]
  for i, fd in enumerate(high): os.dup2(fd, 3 + i, True)
  if kept: environment.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(kept)), LISTEN_FDNAMES=":".join(kept))
  os.execve(program[0], program, environment)
def listen():
  while True:
    text, extra, _, _ = s.recvmsg(65536, 256, socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for _, _, data in extra: fds.frombytes(data)
    values = dict(line.split("=", 1) for line in text.decode().split("\\n"))
    if "FDSTORE" in values: kept[values["FDNAME"]] = fds[0]
    if "FDSTOREREMOVE" in values and values["FDNAME"] in kept: os.close(kept.pop(values["FDNAME"]))
    say(text=text.decode(), kept=sorted(kept))
threading.Thread(target=listen, daemon=True).start()
start()
try:
  for line in sys.stdin:
    os.kill(child, signal.SIGTERM)
    os.waitpid(child, 0)
    say(ended=child)
    if line.strip() != "stop":
      program = program[:-1] + [line.strip()] if line.strip() != "restart" else program
      start()
finally:
  os.kill(child, signal.SIGKILL)`;

export interface ManagedState {
  /** The names of the descriptors that it stores. */
  kept: readonly string[];
  /** The output of the service. */
  readonly texts: string[];
  /** Process ids of the processes that were started, and of those that have ended. */
  readonly started: number[];
  readonly ended: number[];
}

export class ManagedService {
  readonly state: ManagedState = { kept: [], texts: [], started: [], ended: [] };
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdin?.on("error", () => undefined);
    createInterface({ input: child.stdout! }).on("line", (line) => {
      if (!line.startsWith("{")) return;
      const { text, kept, started, ended } = JSON.parse(line) as {
        text?: string;
        kept?: string[];
        started?: number;
        ended?: number;
      };
      if (text !== undefined) this.state.texts.push(text);
      if (kept !== undefined) this.state.kept = kept;
      if (started !== undefined) this.state.started.push(started);
      if (ended !== undefined) this.state.ended.push(ended);
    });
  }

  /**
   * Starts a program under the manager; it is stopped at the end of the test. `restart` can replace the last argument.
   */
  static async start(t: Test, address: string, program: readonly string[]): Promise<ManagedService> {
    const child = spawn("python3", ["-c", manager, address, ...program], { stdio: ["pipe", "pipe", "inherit"] });
    const service = new ManagedService(child);
    t.teardown(() => {
      child.stdin.end();
      return within(new Promise((resolve) => child.on("close", resolve)), "the end of the service manager");
    });
    await service.isReady(1);
    return service;
  }

  /** The address on which the last start listens. */
  get url(): string {
    return this.state.texts.flatMap((text) => /STATUS=Listening on (\S+)/.exec(text)?.[1] ?? []).at(-1) ?? "";
  }

  /**
   * Sends SIGTERM, and starts the program again when the process has ended, with a new last argument if one is passed.
   */
  async restart(lastArgument = "restart"): Promise<void> {
    const count = this.#readyCount() + 1;
    this.#child.stdin?.write(`${lastArgument}\n`);
    await this.isReady(count);
  }

  async isReady(count: number): Promise<void> {
    await until("the service is ready", () => this.#readyCount() >= count);
  }

  #readyCount(): number {
    return this.state.texts.filter((text) => text.startsWith("READY=1\nSTATUS")).length;
  }
}
