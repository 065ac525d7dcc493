// A null server without delays as a process of its own: prints its address and stays until it is killed.
import { NullServer } from "./null-server.js";

const { url } = new NullServer({ delayMs: () => 0, stall: undefined });
console.log(url);
