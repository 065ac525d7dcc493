import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
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
    url deliveries { id event state came went moved createdAt attempts error }
  } } }
}`;
const enableMutation = `mutation EnableNotification($id: ID!, $url: String!) {
  enableSavedSearchNotification(id: $id, url: $url) { secret }
}`;
const disableMutation = `mutation DisableNotification($id: ID!) { disableSavedSearchNotification(id: $id) { id } }`;
const testMutation = `mutation TestNotification($id: ID!) { testSavedSearchNotification(id: $id) { id } }`;

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
  const action = useAction();
  return (
    <Found used={used} what="the notifications">
      {(value, retry) => {
        const notification = value.node?.notification ?? undefined;
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
              submitLabel={notification === undefined ? "Notify" : "Change, with a new secret"}
              submit={async (fields) => {
                const { enableSavedSearchNotification: enabled } = await graphql("EnableNotification", enableMutation, {
                  id,
                  url: fields.get("url"),
                });
                secret.value = enabled.secret;
                retry();
                changed();
              }}
            >
              <TextField
                label="Webhook"
                name="url"
                value={notification?.url ?? ""}
                hint="An address that gets a POST request when matches come, go or move. The operator lists the hosts that may be used."
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
  useEffect(() => {
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
          <time dateTime={one.createdAt}>{formatTime(one.createdAt)}</time>: {describe(one)}
          {one.error !== null && <span class="soft"> ({one.error})</span>}
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
