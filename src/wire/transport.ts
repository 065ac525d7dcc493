/** The request that opens a channel. */
export const channelPath = "/search";

/** The header in which both ends say what they speak. */
export const protocolHeader = "trawl-version";

/** Bytes that a stream may have on its way, unread. */
export const windowBytes = 64 * 1024;

/** Streams of one connection at the same time. */
export const streamsMax = 1_000;

/** Of one connection: with the window of each stream, so that those that are not read do not hold up the others. */
export const connectionWindowBytes = windowBytes * streamsMax;

/** What a connection may hold that has not been sent, before it refuses further streams. */
export const sessionMemoryMiB = 1_024;
