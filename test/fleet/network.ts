import { execFileSync } from "node:child_process";

/** A host of the test: an address in a network namespace of its own. */
export interface Host {
  readonly address: string;
  /** Runs a process there. */
  readonly wrapper: readonly string[];
  /** Takes its cable out and puts it in again. */
  readonly setLink: (isUp: boolean) => void;
  /** What it sends is lost, and what it is sent arrives. */
  readonly setDeaf: (isDeaf: boolean) => void;
}

const network = "10.77.0";

/** Hosts on a bridge, to which this process is connected, too. It must be in a network namespace of its own. */
export function makeHosts(names: readonly string[]): readonly Host[] {
  ip("link set dev lo up");
  ip("link add name bridge0 type bridge");
  ip(`addr add ${network}.1/24 dev bridge0`);
  ip("link set dev bridge0 up");
  return names.map((name, i) => {
    const address = `${network}.${i + 2}`;
    ip(`netns add ${name}`);
    ip(`link add name ${name} type veth peer name eth0 netns ${name}`);
    ip(`link set dev ${name} master bridge0 up`);
    ip(`-n ${name} link set dev lo up`);
    ip(`-n ${name} addr add ${address}/24 dev eth0`);
    ip(`-n ${name} link set dev eth0 up`);
    return {
      address,
      wrapper: ["ip", "netns", "exec", name],
      setLink: (isUp) => ip(`link set dev ${name} ${isUp ? "up" : "down"}`),
      setDeaf: (isDeaf) => ip(`-n ${name} route ${isDeaf ? "add" : "del"} blackhole ${network}.2/32`),
    };
  });
}

function ip(words: string): void {
  execFileSync("ip", words.split(" "), { stdio: ["ignore", "ignore", "inherit"] });
}
