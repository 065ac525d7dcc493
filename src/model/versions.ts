/** The version of the interface that we speak: clients decide by it what they may ask. */
export const productVersion = "6.0.0";

/** Clients read the date in it. */
export const buildVersion = "100000_2026-11-21_6.0-000000000000";
