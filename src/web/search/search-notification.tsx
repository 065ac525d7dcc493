import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect } from "preact/hooks";
import { graphql } from "../api/graphql.js";
import { useGraphql } from "../api/use-graphql.js";
import { callAfter } from "../ui/delay.js";
import { ActionError, ConfirmButton, useAction } from "../ui/action.js";
import { Form, TextField } from "../ui/form.js";
import { formatTime } from "../ui/numbers.js";
import { Found, Notice } from "../ui/states.js";

interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly state: "PENDING" | "DELIVERED" | "FAILED" | "WITHHELD";
  readonly came: number;
  readonly went: number;
  readonly moved: number;
  readonly createdAt: string;
  readonly attempts: number;
  readonly error: string | null;
}

const notificationQuery = `query SearchNotification($id: ID!) {
  node(id: $id) { ... on SavedSearch { notification {
    url format deliveries { id event state came went moved createdAt attempts error }
  } } }
}`;
const enableMutation = `mutation EnableNotification($id: ID!, $url: String!, $format: SavedSearchNotificationFormat!) {
  enableSavedSearchNotification(id: $id, url: $url, format: $format) { secret }
}`;
const disableMutation = `mutation DisableNotification($id: ID!) { disableSavedSearchNotification(id: $id) { id } }`;
const testMutation = `mutation TestNotification($id: ID!) { testSavedSearchNotification(id: $id) { id } }`;

type Format = "WEBHOOK" | "SLACK" | "TEAMS" | "DISCORD" | "MAIL";

const formats: readonly { readonly value: Format; readonly label: string; readonly hint: string }[] = [
  {
    value: "WEBHOOK",
    label: "Signed JSON",
    hint: "The address of a program that gets a POST request. The operator lists the hosts that may be used.",
  },
  {
    value: "SLACK",
    label: "Slack",
    hint: "The address of an incoming webhook, which begins with https://hooks.slack.com. Who knows it may write to the channel.",
  },
  {
    value: "TEAMS",
    label: "Microsoft Teams",
    hint: "The address of a workflow that posts to a channel what a webhook gets. Who knows it may write there.",
  },
  {
    value: "DISCORD",
    label: "Discord",
    hint: "The address of a webhook of a channel, which begins with https://discord.com/api/webhooks. Who knows it may write there.",
  },
  {
    value: "MAIL",
    label: "Mail",
    hint: "An address such as team@example.org. The operator lists the addresses and domains that may be used.",
  },
];

function toFormat(text: unknown): Format {
  return formats.find(({ value }) => value === text)?.value ?? "WEBHOOK";
}

const stateNames = { PENDING: "waiting", DELIVERED: "delivered", FAILED: "given up", WITHHELD: "withheld" };

interface Props {
  readonly id: string;
  readonly description: string;
  /** Called when notifications were turned on or off. */
  readonly changed: () => void;
}

/** Where changes of the results of a saved search are sent, and what was sent. */
export function SearchNotification({ id, description, changed }: Props) {
  const used = useGraphql("SearchNotification", notificationQuery, { id });
  const secret = useSignal("");
  /** Undefined until another one was chosen. */
  const chosen = useSignal<Format | undefined>(undefined);
  const formatId = useId();
  const action = useAction();
  return (
    <Found used={used} what="the notifications">
      {(value, retry) => {
        const notification = value.node?.notification ?? undefined;
        const format = chosen.value ?? toFormat(notification?.format);
        const isMail = format === "MAIL";
        const isWaiting = notification?.deliveries.some(({ state }) => state === "PENDING") === true;
        const act = (mutation: string, name: "DisableNotification" | "TestNotification"): void =>
          void action.run(async () => {
            await graphql(name, mutation, { id });
            secret.value = "";
            retry();
            if (mutation === disableMutation) changed();
          });
        return (
          <section aria-label={`Notifications of ${description}`}>
            <Form
              submitLabel={
                notification === undefined ? "Notify" : format === "WEBHOOK" ? "Change, with a new secret" : "Change"
              }
              submit={async (fields) => {
                const { enableSavedSearchNotification: enabled } = await graphql("EnableNotification", enableMutation, {
                  id,
                  url: fields.get("url"),
                  format,
                });
                secret.value = enabled.secret;
                retry();
                changed();
              }}
            >
              <div class="form-field">
                <label for={formatId}>Send</label>
                <select
                  id={formatId}
                  class="field"
                  name="format"
                  value={format}
                  onChange={(event) => {
                    chosen.value = toFormat(event.currentTarget.value);
                  }}
                >
                  {formats.map(({ value: one, label }) => (
                    <option key={one} value={one} selected={one === format}>
                      {label}
                    </option>
                  ))}
                </select>
              </div>
              <TextField
                key={isMail}
                label={isMail ? "Mail address" : "Webhook"}
                name="url"
                value={
                  isMail === (notification?.format === "MAIL") ? (notification?.url ?? "").replace(/^mailto:/, "") : ""
                }
                hint={formats.find(({ value: one }) => one === format)?.hint ?? ""}
              />
            </Form>
            {secret.value !== "" && (
              <Notice kind="info">
                The messages are signed with this secret, which is not shown again: <code>{secret.value}</code>
              </Notice>
            )}
            {notification !== undefined && (
              <>
                <div class="row-actions">
                  <button type="button" class="button" onClick={() => act(testMutation, "TestNotification")}>
                    Send a test<span class="unseen"> of {description}</span>
                  </button>
                  <button type="button" class="button" onClick={retry}>
                    Refresh<span class="unseen"> {description}</span>
                  </button>
                  <ConfirmButton
                    label="Turn off"
                    about={description}
                    act={() => act(disableMutation, "DisableNotification")}
                  >
                    Nothing is sent any more, and what waits is dropped.
                  </ConfirmButton>
                </div>
                <Deliveries deliveries={notification.deliveries} />
                {isWaiting && <Reread value={value} act={retry} />}
              </>
            )}
            <ActionError action={action} />
          </section>
        );
      }}
    </Found>
  );
}

const rereadMs = 500;

/** Reads again what waits, until it was delivered or given up. */
function Reread({ value, act }: { readonly value: unknown; readonly act: () => void }) {
  useLayoutEffect(() => {
    const next = callAfter(rereadMs, act);
    return () => next.cancel();
  }, [value]);
  return null;
}

function Deliveries({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  if (deliveries.length === 0) return <p class="soft small">Nothing has been sent yet.</p>;
  return (
    <ul class="small" aria-label="Recent deliveries">
      {deliveries.map((one) => (
        <li key={one.id}>
          <span>
            <time dateTime={one.createdAt}>{formatTime(one.createdAt)}</time>: {describe(one)}
            {one.error !== null && <span class="soft"> ({one.error})</span>}
          </span>
        </li>
      ))}
    </ul>
  );
}

function describe({ event, state, came, went, moved, attempts }: Delivery): string {
  const what =
    event === "ping"
      ? "a test"
      : event === "search.failed"
        ? "a failure"
        : event === "search.commits"
          ? `${came} new commits`
          : `${came} came, ${went} went, ${moved} moved`;
  return `${what}, ${stateNames[state]}${attempts > 1 ? ` after ${attempts} attempts` : ""}`;
}
