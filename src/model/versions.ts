/** The version of the interface that Trawl implements: clients use it to decide which features they may request. */
export const productVersion = "6.0.0";

/** Clients parse the date in it. */
export const buildVersion = "100000_2026-11-21_6.0-000000000000";
