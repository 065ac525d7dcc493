import { Duplex } from "node:stream";

/** Two ends of a stream in memory: what is written to one is read from the other. */
export function streamPair(): readonly [Duplex, Duplex] {
  const make = (other: () => Duplex): Duplex =>
    new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        other().push(chunk);
        done();
      },
      final: (done) => {
        other().push(null);
        done();
      },
      destroy: (error, done) => {
        // The other end notices, as it would over a network.
        queueMicrotask(() => other().destroy());
        done(error);
      },
    });
  const left: Duplex = make(() => right);
  const right: Duplex = make(() => left);
  return [left, right];
}
